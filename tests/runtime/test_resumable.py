"""Files that grow group by group are the same however often they were interrupted."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.runtime.resumable import partial, resumable_lines


@settings(max_examples=60, deadline=None)
@given(
    groups=st.lists(
        st.lists(st.text(st.characters(exclude_characters="\n\r#", codec="utf-8"), max_size=5), max_size=3), max_size=6
    ),
    data=st.data(),
)
def test_lines_cut_at_any_byte_are_completed_to_the_same_file(tmp_path_factory, groups, data):
    folder = tmp_path_factory.mktemp("lines")
    whole, cut = folder / "whole", folder / "cut"
    resumable_lines(whole, groups, lambda group: group)

    class Stop(Exception):
        pass

    stop_at = data.draw(st.integers(0, len(groups)))
    reached = iter(range(len(groups) + 1))

    def until(group):
        if next(reached) == stop_at:
            raise Stop
        return group

    try:
        resumable_lines(cut, groups, until)
    except Stop:
        written = partial(cut).read_bytes()
        partial(cut).write_bytes(written[: data.draw(st.integers(0, len(written)))])
        resumable_lines(cut, groups, lambda group: group)
    assert cut.read_bytes() == whole.read_bytes()
    assert not partial(cut).exists()
