"""Sets of rows as integers, held to plain lists on more rows than are looked at in one stretch."""

from random import Random

import pytest

from app.domain.bitsets import Order, encode, sort_rows

SIZES = (0, 1, 2, 2047, 2048, 2049, 4096, 5000)


def order_and_column(size: int) -> tuple[Order, list[int]]:
    """Return some order of so many rows, and a column of 600 values, which need three pages of codes."""
    random = Random(size)  # noqa: S311 - the same rows each time, no secret
    return Order(sort_rows([random.random() for _ in range(size)], descending=False)), [
        random.randrange(600) for _ in range(size)
    ]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("start", "count"), [(0, 100), (0, 1), (3, 7), (2040, 20), (4990, 100), (9000, 5)])
def test_a_page_holds_the_rows_of_a_set_in_order(size: int, start: int, count: int) -> None:
    order, column = order_and_column(size)
    masks = order.masks("column", encode(column))
    chosen = [value for value in range(600) if value % 3 == 0]
    mask = 0
    for value in chosen:
        mask |= masks.get(value, 0)
    rows = [row for row in order.permutation if column[row] % 3 == 0]
    assert order.rows(mask, start=start, count=count) == rows[start : start + count]
    assert mask.bit_count() == len(rows)


@pytest.mark.parametrize("size", SIZES)
def test_every_row_stands_in_the_set_of_its_value_alone(size: int) -> None:
    order, column = order_and_column(size)
    masks = order.masks("column", encode(column))
    assert {value: order.rows(mask, start=0, count=size) for value, mask in masks.items()} == {
        value: [row for row in order.permutation if column[row] == value] for value in set(column)
    }
    assert sum(masks.values()) == order.everything
    assert order.rows(order.everything, start=0, count=size) == list(order.permutation)


@pytest.mark.parametrize("size", SIZES)
def test_a_set_can_be_made_from_one_byte_a_row(size: int) -> None:
    order, column = order_and_column(size)
    mask = order.mask_where(bytes(value < 100 for value in column))
    assert order.rows(mask, start=0, count=size) == [row for row in order.permutation if column[row] < 100]


@pytest.mark.parametrize("descending", [False, True])
def test_rows_sort_by_value_with_unknown_last_and_equal_ones_as_they_came(*, descending: bool) -> None:
    values = [3, None, 1, 3, None, 2]
    expected = [0, 3, 5, 2, 1, 4] if descending else [2, 5, 0, 3, 1, 4]
    assert list(sort_rows(values, descending=descending)) == expected
