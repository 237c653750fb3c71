from __future__ import annotations

import gc
import threading

from asyncguard.runtime.steps import Pace


class Optimizer:
    pass


def ends(pace: Pace, *sources: object | None) -> list[bool]:
    return [pace.ends_step(source) for source in sources]


def test_each_update_of_the_only_optimizer_ends_a_step() -> None:
    a = Optimizer()
    assert ends(Pace(), a, a, a) == [True, True, True]


def test_of_two_optimizers_that_take_turns_the_first_sets_the_pace() -> None:
    a, b = Optimizer(), Optimizer()
    assert ends(Pace(), a, b, a, b, a, b) == [True, False, True, False, True, False]


def test_the_optimizer_that_steps_more_often_sets_the_pace() -> None:
    generator, critic = Optimizer(), Optimizer()
    marks = [generator, critic, critic, critic, generator, critic, critic, critic]
    assert ends(Pace(), *marks) == [True, False, True, True, False, True, True, True]


def test_one_optimizer_for_each_parameter_is_one_step() -> None:
    many = [Optimizer() for _ in range(5)]
    assert sum(ends(Pace(), *many, *many, *many)) == 3


def test_a_later_phase_with_other_optimizers_takes_over() -> None:
    a, b, c = Optimizer(), Optimizer(), Optimizer()
    assert ends(Pace(), a, a, b, c, b, c, b) == [True, True, False, False, True, False, True]


def test_an_optimizer_that_is_gone_leaves_the_pace_to_the_next() -> None:
    pace, a, b = Pace(), Optimizer(), Optimizer()
    assert ends(pace, a) == [True]
    del a
    gc.collect()
    assert ends(pace, b, b) == [True, True]


def test_marks_of_the_user_silence_optimizers() -> None:
    a = Optimizer()
    assert ends(Pace(), a, None, a, None, a) == [True, True, False, True, False]


def test_what_cannot_be_referred_to_weakly_is_known_by_its_class() -> None:
    assert ends(Pace(), 1, 2, 3) == [True, True, True]


def test_each_thread_has_a_pace_of_its_own() -> None:
    class Optimizer:
        pass

    pace, ended = Pace(), []

    def train() -> None:
        optimizer, other = Optimizer(), Optimizer()
        for _ in range(10):
            ended.append(pace.ends_step(optimizer))
            ended.append(pace.ends_step(other))

    threads = [threading.Thread(target=train) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended.count(True) == 80
