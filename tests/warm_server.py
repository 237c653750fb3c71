"""The process that `warm.py` forks others from.

Its arguments are a socket, the process with whose end it ends, and the modules to import, as
`module` or as `module:function to call`. It leaves none of its files.
"""

import atexit
import builtins
import contextlib
import gc
import importlib
import marshal
import multiprocessing
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import types
from importlib.machinery import BuiltinImporter, SourceFileLoader

LOOKS_EVERY = 1  # seconds between two looks for the process that it serves


def serve(path, served):
    """Fork for each connection; return what to run in the process that runs it."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    os.write(1, b"ready\n")
    clients = {}  # by the process that runs what each has asked for
    while True:
        ready, _, _ = select.select([listener, ended], [], [], LOOKS_EVERY)
        if ended in ready:
            os.read(ended, 64)
            tell_statuses(clients)
        if listener in ready:
            connection, _ = listener.accept()
            data, streams = received(connection)
            pid = os.fork()
            if pid == 0:
                take(streams)
                return marshal.loads(data)
            clients[pid] = connection
            for stream in streams:
                os.close(stream)
            say(connection, pid)
        if not ready and not is_there(served):
            leave(os.path.dirname(path))


def received(connection):
    """Return all that a client sends, and its streams."""
    data, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    while more := connection.recv(1 << 20):
        data += more
    return data, streams


def take(streams):
    """Have the streams of a client, its signals, and none of the server's files."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX") if sys.platform != "linux" else 1024)


def tell_statuses(clients):
    """Tell the clients whose processes have ended how they did."""
    while clients:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            break
        with clients.pop(pid) as connection:
            say(connection, os.waitstatus_to_exitcode(status))


def say(connection, number):
    """Send a number to a client, which somebody may have killed."""
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(b"%d\n" % number)


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def leave(folder):
    """Remove the files, those of the run where they are the last, and end."""
    shutil.rmtree(folder)
    os.unlink(f"{folder}.lock")
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(folder))
    os._exit(0)


def become(arguments, unbuffered, folder, environment, base):
    """Be what Python is when it has started with these arguments; return the code to run."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    multiprocessing.set_executable(sys.executable)  # the commands hand on no descriptors of parents
    sys.executable = environment.get("PYTHON_EXEC", sys.executable)  # for what starts processes
    sys.orig_argv[:] = [sys.executable, *arguments]
    if unbuffered:
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(write_through=True)
    kind, *rest = arguments
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    if "__annotations__" in globals():  # Python 3.14 makes it when it is asked for
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    if kind == "-m":
        sys.argv[:] = ["-m", *rest[1:]]
        sys.path[:] = [os.getcwd(), *paths, *base]
        return lambda: runpy._run_module_as_main(rest[0])
    if kind == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        sys.path[:] = ["", *paths, *base]
        main.__loader__ = BuiltinImporter
        code = compile(rest[0], "<string>", "exec")
    else:
        sys.argv[:] = arguments
        sys.path[:] = [os.path.dirname(os.path.realpath(kind)), *paths, *base]
        path = os.path.abspath(kind)
        main.__file__, main.__cached__ = path, None
        main.__loader__ = SourceFileLoader("__main__", path)
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
    return lambda: exec(code, main.__dict__)


def end(status):
    """End the process, all but for the taking apart of its modules, which takes a second."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def status_of(error):
    """Return the exit status that Python has for what ended a program; below 0 it is a signal."""
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else bool(error.code)
        return int(code) & 0xFF
    return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def tell(error):
    """Tell of an error as Python does at the end of a program, and of its own calls only."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)


_mine, _base, _status = sys.modules["__main__"], sys.path[1:], 0
sys.path[:] = _base
atexit.register(lambda: end(_status))  # the first, and so called after all others
for _name in sys.argv[3:]:
    _module, _, _function = _name.partition(":")
    _imported = importlib.import_module(_module)
    if _function:
        getattr(_imported, _function)()
gc.freeze()
_run = become(*serve(sys.argv[1], int(sys.argv[2])), base=_base)
try:
    _run()
except SystemExit as _error:
    _status = status_of(_error)
    raise
except BaseException as _error:  # noqa: BLE001  (as Python does around any program)
    _status = status_of(_error)
    tell(_error)
