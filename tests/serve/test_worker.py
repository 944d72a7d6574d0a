"""The one thread that answers, and its work while nobody asks."""

import threading
from concurrent.futures import ThreadPoolExecutor

from lisax.serve.worker import Worker

QUESTION = "What is the city of Mara Velin?"


def test_people_come_before_what_is_done_when_idle():
    worker, going_on, ended, done = Worker("test", 5), threading.Event(), threading.Event(), []
    worker.submit(going_on.wait)
    worker.when_idle([lambda: done.append("idle"), lambda: 1 / 0, ended.set])
    asked = worker.submit(lambda: done.append("asked"))
    going_on.set()
    asked.result(10)
    assert ended.wait(10) and done == ["asked", "idle"]
    worker.close()


def test_what_is_done_when_idle_keeps_nobody_out_and_ends_nothing():
    """To find the next bit of it may take long, and fail."""
    worker, going_on, done = Worker("test", 5), threading.Event(), threading.Event()

    def found():
        going_on.wait(10)
        raise FileNotFoundError("of a corpus that was removed meanwhile")
        yield

    worker.when_idle(found())
    worker.when_idle([done.set])
    with ThreadPoolExecutor(1) as people:
        asked = people.submit(worker.submit, lambda: "answered").result(5)
    going_on.set()
    assert asked.result(10) == "answered" and done.wait(10)
    worker.close()
