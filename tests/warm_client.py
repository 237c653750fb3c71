"""The command that `warm.py` gives out: it has the server run the program, with its own streams.

It starts as often as the tests start programs, and so imports only what is built in.
"""

import _signal
import _socket
import marshal
import os
import sys

OF_SERVERS = ("PYTHONPATH", "PYTHON_EXEC")  # they take these of a client; the second is torchrun's


def needs_its_own(arguments, begun_with):
    """Whether a program needs what only the start of an interpreter gives."""
    if not arguments or (arguments[0] not in ("-m", "-c") and not os.path.isfile(arguments[0])):
        return True
    given = {name: os.environ[name] for name in os.environ if name.startswith("PYTHON")}
    return repr(sorted(item for item in given.items() if item[0] not in OF_SERVERS)) != begun_with


def main():
    path, begun_with, *arguments = sys.argv[1:]
    unbuffered = arguments[:1] == ["-u"]
    if needs_its_own(arguments[unbuffered:], begun_with):
        os.execv(sys.executable, [sys.executable, *arguments])
    server = _socket.socket(_socket.AF_UNIX)
    server.connect(path)
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    data = marshal.dumps((arguments[unbuffered:], unbuffered, os.getcwd(), dict(os.environ)))
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)
    server.sendall(data[server.sendmsg([data], [rights]) :])
    server.shutdown(_socket.SHUT_WR)
    answers = os.fdopen(server.detach())
    pid = int(answers.readline())
    for name in ("INT", "TERM", "HUP", "USR1", "USR2"):
        _signal.signal(getattr(_signal, f"SIG{name}"), lambda number, _: os.kill(pid, number))
    status = int(answers.readline())
    if status < 0:  # it died of a signal, and so do we
        if -status not in (_signal.SIGKILL, _signal.SIGSTOP):
            _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
