"""The command that `warm.py` gives out: it has the server run the program, with its own streams."""

import json
import os
import signal
import socket
import sys


def needs_its_own(arguments, begun_with):
    """Whether a program needs what only the start of an interpreter gives."""
    if not arguments or (arguments[0] not in ("-m", "-c") and not os.path.isfile(arguments[0])):
        return True
    given = {name: os.environ[name] for name in os.environ if name.startswith("PYTHON")}
    for name in ("PYTHONPATH", "PYTHON_EXEC"):  # the second is torchrun's
        given.pop(name, None)
    return given != begun_with


def main():
    path, begun_with, *arguments = sys.argv[1:]
    unbuffered = arguments[:1] == ["-u"]
    if needs_its_own(arguments[unbuffered:], json.loads(begun_with)):
        os.execv(sys.executable, [sys.executable, *arguments])
    wanted = {
        "arguments": arguments[unbuffered:],
        "unbuffered": unbuffered,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    data = json.dumps(wanted).encode() + b"\n"
    server = socket.socket(socket.AF_UNIX)
    server.connect(path)
    sent = socket.send_fds(server, [data], [0, 1, 2])
    server.sendall(data[sent:])
    answers = server.makefile()
    pid = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    status = int(answers.readline())
    if status < 0:  # it died of a signal, and so do we
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
