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
    names = [name for name in os.environ if name.startswith("PYTHON") and name != "PYTHONPATH"]
    return {name: os.environ[name] for name in names} != begun_with


def main():
    path, begun_with, *arguments = sys.argv[1:]
    if needs_its_own(arguments, json.loads(begun_with)):
        os.execv(sys.executable, [sys.executable, *arguments])
    wanted = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
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
