"""The words of a program's names, as items of evidence."""

from __future__ import annotations

import libcst as cst
import pytest

from asyncguard.lint.evidence import values, words


def test_a_function_has_the_words_of_its_name_and_class() -> None:
    found = words.of_function("BeamDecoder.generate_batches.inner_step")
    assert set(found) == {
        "word.inner", "word.step",
        "class.beam", "class.decoder", "class.generate", "class.batch",
    }  # fmt: skip


def test_callers_have_the_words_of_their_own_names() -> None:
    found = words.of_callers(["Trainer.validate_epoch", "main"])
    assert set(found) == {"via.validate", "via.epoch", "via.main"}


@pytest.mark.parametrize(
    ("expression", "items"),
    [
        ("loss", {"name.loss"}),
        ("self.num_updates", {"name.num", "name.update"}),
        ("self", set()),
        ("batch['input_ids'][0]", {"name.batch", "name.input", "name.id"}),
        ("mask.any()", {"made.any", "name.mask"}),
        ("torch.isnan(actions).any()", {"made.any", "made.isnan", "name.action"}),
        ("torch.linalg.svd(cov)", {"made.svd", "name.cov"}),
        ("float(x.sum())", {"made.float", "made.sum"}),
        ("new_loss < best", {"name.new", "name.loss", "name.best"}),
        ("-(start + 1)", {"name.start"}),
        ("done and not ok", {"name.done", "name.ok"}),
        ("torch", set()),
    ],
)
def test_a_value_has_the_words_of_its_variables_and_of_what_makes_it(
    expression: str, items: set[str]
) -> None:
    node = cst.parse_expression(expression)
    assert set(values.of_value(node, {"torch"}.__contains__)) == items
