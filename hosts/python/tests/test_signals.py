"""Signals while a call runs or waits for its turn, and processes that fork."""

import ctypes as C
import os
import signal
import sys
import threading
import traceback

import cuttle
import memory as m
from held import held
from tap import done, fails, ok, same, skip_all

SCRIPT = """
kernel("add", function(x)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then x[i] = x[i] + 1 end
end)
kernel("long", function(x)
  while x[0] == 0.0 do x[0] = 0.0 end
end)
kernel("threads", function(x, n)
  local s = 0.0
  for j = 1, n do s = s + x[j % size(x)] end
  x[threadIdx.x] = s
end)
function forever() while true do end end
function until_set(x) while x[0] == 0 do end return "went on" end
"""

N, BLOCKS, BLOCK = 4096, 64, 64
HANG = 60


def give_up():
    traceback.print_stack(sys._current_frames()[threading.main_thread().ident])
    print("not ok - it hangs", flush=True)
    os._exit(1)


def send(number, after=0.1):
    timer = threading.Timer(after, os.kill, (os.getpid(), number))
    timer.start()
    return timer


class Stop(Exception):
    pass


def raising(number, frame):
    raise Stop("the handler raised")


def test_handlers(module):
    zero = m.New(m.floats(0.0), "f32")
    ones = m.New((C.c_float * BLOCK)(*[1.0] * BLOCK), "f32")
    before = signal.signal(signal.SIGALRM, raising)
    for call, what in ((lambda: module.long[1, 1](zero), "a kernel"),
                       (lambda: module.threads[BLOCKS, BLOCK](ones, 2**31 - 1), "a kernel of many blocks"),
                       (lambda: module.run("while true do end", "=loop"), "a script"),
                       (lambda: module.call("forever", (), None), "a function")):
        timer = send(signal.SIGALRM)
        fails(Stop, "the handler raised", call, f"a handler that raises ends {what}")
        timer.join()

    x = (C.c_float * 1)(0.0)
    asked = []

    def set_it(number, frame):
        for call in (lambda: module.call("forever", (), None), module.close):
            try:
                call()
            except cuttle.Error as error:
                asked.append(str(error))
        x[0] = 1.0

    signal.signal(signal.SIGALRM, set_it)
    timer = send(signal.SIGALRM)
    same(module.call("until_set", (m.New(x, "f32"),), None), ["went on"], "one that returns lets the call go on")
    timer.join()
    ok(len(asked) == 2 and all("signal handler" in text for text in asked),
       "the module refuses calls of a handler meanwhile", asked)
    signal.signal(signal.SIGALRM, before)
    room = m.New((C.c_float * N)(), "f32")
    module.add[BLOCKS, BLOCK](room)
    same(list(room.array), [1.0] * N, "the module goes on")


def test_turns(module):
    """The main thread waits for its turn, which never comes."""
    zero = m.New(m.floats(0.0), "f32")
    inside = threading.Event()

    class Out:
        def write(self, text):
            inside.set()

    out, sys.stdout = sys.stdout, Out()
    stopped = []

    def hold():
        try:
            module.run("print 'inside' while true do end", "=hold")
        except cuttle.Error as error:
            stopped.append(str(error))

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    sys.stdout = out
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = send(signal.SIGINT)
    fails(KeyboardInterrupt, "", lambda: module.add[1, 1](zero), "Ctrl-C reaches a thread that waits for its turn")
    timer.join()
    module.interrupt()
    thread.join()
    ok(len(stopped) == 1 and "interrupted" in stopped[0], "the other thread was not disturbed", stopped)
    module.add[1, 1](zero)
    same(list(zero.array), [1.0], "and the module goes on")


def ends_well(function):
    """Runs the function in a child made by fork, which must end by itself and return something true."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(HANG)
            status = 0 if function() else 2
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def in_child(function, name):
    ok(ends_well(function), name)


def added(module, times=1):
    x = m.New((C.c_float * N)(), "f32")
    for _ in range(times):
        module.add[BLOCKS, BLOCK](x)
    return list(x.array) == [float(times)] * N


def test_forks(module):
    ok(added(module), "a launch starts the engine's threads")
    in_child(lambda: added(module, 20), "a child of fork launches in the module of its parent")
    in_child(lambda: added(cuttle.loads(SCRIPT, device="cpu")), "and in one of its own")
    in_child(lambda: module.close() is None, "closes what it inherited, without having launched")
    in_child(lambda: added(module) and module.close() is None, "and after a launch")

    in_child(lambda: added(module) and ends_well(lambda: added(module)) and added(module),
             "children of children launch as well")

    def signalled():
        signal.signal(signal.SIGALRM, raising)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            module.call("forever", (), None)
        except Stop:
            return True
        return False

    in_child(signalled, "handlers of signals run in a child, too")
    ok(added(module), "the parent goes on")


def test_fork_during_call(module):
    add = module.add

    def child():
        try:
            add[1, 1](m.New(m.floats(0.0), "f32"))
        except cuttle.Error as error:
            return "when the process was forked" in str(error) and module.close() is None
        return False

    with held(module):
        in_child(child, "a module that another thread was in is refused in the child")
    ok(added(module), "and goes on in the parent")


if not hasattr(os, "fork") or not hasattr(signal, "setitimer"):
    skip_all("no fork here")
watchdog = threading.Timer(HANG, give_up)
watchdog.daemon = True
watchdog.start()
module = cuttle.loads(SCRIPT, device="cpu")
test_handlers(module)
test_turns(module)
test_forks(module)
test_fork_during_call(module)
watchdog.cancel()
done()
