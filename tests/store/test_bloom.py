"""What a sieve remembers, and that a store that has one finds what others put into its file."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ragstone.store.bloom import MOST, Sieve
from ragstone.store.database import CallRow, Store

KEYS = st.lists(st.binary(min_size=16, max_size=16), max_size=200)


def call(number: int) -> CallRow:
    return CallRow(number.to_bytes(16, "little"), "judge", "support", "maker", b"{}", b'{"text":"%d"}' % number)


def keep(store: Store, *numbers: int) -> None:
    store.begin()
    store.insert([call(number) for number in numbers], [])
    store.commit()


def test_an_empty_sieve_lacks_everything() -> None:
    assert all(Sieve().lacks(call(number).key) for number in range(100))


@given(KEYS, KEYS)
def test_what_was_added_is_never_lacking(first: list[bytes], later: list[bytes]) -> None:
    sieve = Sieve(first)
    sieve.add(later)
    assert not any(sieve.lacks(key) for key in (*first, *later))


def test_few_keys_that_were_not_added_are_taken_for_one_that_was() -> None:
    keys = [bytes.fromhex(f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}") for number in range(40_000)]
    sieve = Sieve(keys[:20_000])
    assert sum(not sieve.lacks(key) for key in keys[20_000:]) < 100


def test_with_too_many_keys_nothing_is_sure() -> None:
    sieve = Sieve(call(1).key for _ in range(MOST))
    assert sieve.lacks(call(2).key)
    sieve.add([call(1).key])
    assert not sieve.lacks(call(2).key)


def test_a_store_that_writes_finds_what_was_there_what_it_wrote_and_nothing_else(tmp_path: Path) -> None:
    with Store(tmp_path / "calls.db") as store:
        keep(store, 1, 2)
    with Store(tmp_path / "calls.db") as store:
        keep(store, 3)
        assert [store.reply(call(number).key) for number in (1, 2, 3, 4)] == [
            call(1).reply, call(2).reply, call(3).reply, None,
        ]  # fmt: skip


def test_a_reply_is_found_that_was_kept_before_anything_was_looked_for_and_never_before_its_commit(
    tmp_path: Path,
) -> None:
    with Store(tmp_path / "calls.db") as store:
        store.begin()
        store.insert([call(1)], [])
        assert store.reply(call(1).key) is None
        store.commit()
        assert store.reply(call(1).key) == call(1).reply


def test_what_another_process_keeps_is_found_from_the_next_group_on(tmp_path: Path) -> None:
    with Store(tmp_path / "calls.db") as store, Store(tmp_path / "calls.db") as other:
        keep(store, 1)
        assert store.reply(call(2).key) is None
        keep(other, 2)
        keep(store, 3)
        assert store.reply(call(2).key) == call(2).reply
        keep(other, 4)
        assert store.reply(call(4).key) == call(4).reply, "from then on every look is at the file"
        assert other.reply(call(1).key) == call(1).reply
