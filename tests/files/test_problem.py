"""Loading: whatever the form a problem comes in, the numbers are the same, and a fault is named with its place."""

import io

import numpy as np
import pytest

from attn_cli.engine.notes import Note
from attn_cli.errors import InputError, UsageError
from attn_cli.files.folders import is_problem_folder
from attn_cli.files.problem import read_problem as load
from attn_cli.files.values import Value


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own, and a way to fill it: write(name, text or bytes)."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array, **how):
    buffer = io.BytesIO()
    np.save(buffer, array, **how)
    return buffer.getvalue()


def refused(*args, **how):
    with pytest.raises(InputError) as caught:
        load(*args, **how)
    assert "\n" not in str(caught.value)
    return str(caught.value)


X = [[1.0, 0.5], [-2.0, 3.0]]
YAML = "X: [[1, 1/2], [-2, 3]]\nscore: dot\nmask: causal\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.yaml", YAML),
        ("p.yml", "\ufeff" + YAML),
        ("p.yaml", YAML.encode("utf-16")),
        ("p.yaml", b"\xff\xfe" + YAML.encode("utf-16-le")),
        ("p.yaml", b"\xfe\xff" + YAML.encode("utf-16-be")),
        ("p.yaml", YAML.replace("\n", "\r\n")),
        ("p.yaml", YAML.replace("\n", "\r")),
        ("p.json", '{"X": [[1, "1/2"], [-2, 3]], "score": "dot", "mask": "causal"}'),
        ("p.npz", npz(X=np.array(X), score="dot", mask="causal")),
        ("p.npz", npz(x=np.array(X, dtype=">f4"), Score="dot", **{"mask.causal": True})),
        ("p", YAML),
    ],
)
def test_a_problem_is_the_same_in_every_form(here, name, content):
    problem = load(here(name, content)).problem
    assert problem.X.tolist() == X
    assert (problem.score, problem.mask.causal) == ("dot", True)


def test_a_folder_of_matrices_is_one_problem(here, tmp_path):
    here("hw/x.csv", "the,1,0.5\ncat,-2,3\n")
    here("hw/wq.npy", npy(np.eye(2)))
    here("hw/additive.W.csv", "1,2\n")
    here("hw/b_Q.csv", "1/3\n2\n")
    here("hw/mask.csv", "true,false\n1,1.0\n")
    here("hw/problem.yml", "score: additive\nW_V: w.csv\n")
    here("hw/w.csv", "1,0\n0,1\n")
    here("hw/.DS_Store", b"\0\1")
    here("hw/README.md", "about")
    loaded = load("hw")
    problem = loaded.problem
    assert problem.X.tolist() == X
    assert problem.tokens == ("the", "cat")
    assert problem.W_Q.tolist() == [[1, 0], [0, 1]]
    assert problem.b_Q.tolist() == [1 / 3, 2]
    assert problem.parameters["additive"]["W"].tolist() == [[1, 2]]
    assert problem.mask.keep.tolist() == [[True, False], [True, True]]
    assert loaded.problem.written == {("b_Q", (0,)): "1/3"}
    assert loaded.problem.notes == (
        Note("csv_two_columns", {"file": "hw/additive.W.csv", "cell": "1,2"}),
        Note("csv_labels", {"file": "hw/x.csv", "labels": ("the", "cat")}),
    )
    assert is_problem_folder(tmp_path / "hw")
    assert not is_problem_folder(tmp_path)


@pytest.mark.parametrize("content", [YAML, '{"X": [[1, "1/2"], [-2, 3]], "score": "dot"}', npz(X=np.array(X), score="dot")])
def test_standard_input_may_be_any_of_them(content, monkeypatch):
    data = content if isinstance(content, bytes) else content.encode()
    monkeypatch.setattr("sys.stdin", type("In", (), {"buffer": io.BytesIO(data)}))
    loaded = load("-")
    assert loaded.problem.X.tolist() == X
    assert loaded.source == "standard input"
    assert str(loaded.locate(InputError("is odd", key="X"))).startswith("standard input:")


@pytest.mark.parametrize(("score", "noted"), [("", ["parameters_unused"]), ("score: dot\n", []), ("score: general\n", [])])
def test_parameters_without_their_score_are_noted_unless_another_is_chosen(here, score, noted):
    loaded = load(here("p.yaml", f"X: [[1]]\n{score}general: {{W: [[2]]}}\n"))
    assert [note.code for note in loaded.problem.notes] == noted


def test_a_link_that_leads_nowhere_is_not_passed_over(here, tmp_path):
    here("f/X.csv", "1,0\n")
    (tmp_path / "f" / "W_Q.csv").symlink_to("gone.csv")
    assert refused("f") == "f/W_Q.csv: is a link to gone.csv, which is not there"


def test_what_has_no_end_is_not_read_for_ever():
    with pytest.raises(InputError, match=r"/dev/zero: is a device, expected a file"):
        load("/dev/zero")


def test_standard_input_may_be_closed(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="standard input: is closed"):
        load("-")


@pytest.mark.parametrize("spelling", ["W_Q", "Wq", "WQ", "w_q", "wq", "W_q"])
def test_a_matrix_is_known_by_any_of_its_spellings(here, spelling):
    assert load(here("p.yaml", f"X: [[1]]\n{spelling}: [[2]]\n")).problem.W_Q.tolist() == [[2]]


def test_a_value_may_name_a_file_beside_its_yaml(here):
    here("sub/x.csv", "1,0.5\n-2,3\n")
    here("x.csv", "9,9\n")
    here("sub/p.yaml", "X: x.csv\n")
    assert load("sub/p.yaml").problem.X.tolist() == X


def test_options_win_over_the_file(here):
    here("p.yaml", "X: [[7]]\ntemperature: 2\nmask: [[0]]\n")
    here("x.csv", "1,0.5\n-2,3\n")
    loaded = load("p.yaml", matrices={"X": "x.csv"}, settings={"temperature": "1/2", "mask": "causal", "seed": "12345678901234567890"})
    assert loaded.problem.X.tolist() == X
    assert loaded.problem.temperature == 0.5
    assert loaded.problem.mask.causal
    assert loaded.problem.mask.keep is None
    assert loaded.problem.seed == 12345678901234567890
    assert loaded.problem.written["temperature", ()] == "1/2"


def test_columns_are_turned_into_rows(here):
    here(
        "p.yaml",
        "vectors: columns\nX: [[1, -2/1], [0.5, 3]]\nW_Q: [[1, 2], [3, 4], [5, 6]]\nW_K: identity\n"
        "bias: [[0, -inf], [0, 0]]\nmask: {keep: [[1, 0], [1, 1]]}\nadditive: {W: [[1, 2]], v: [1]}\n",
    )
    loaded = load("p.yaml")
    problem = loaded.problem
    assert problem.X.tolist() == X
    assert problem.W_Q.tolist() == [[1, 3, 5], [2, 4, 6]]
    assert problem.W_K.tolist() == [[1, 0], [0, 1]]
    assert problem.bias.tolist() == [[0, 0], [-np.inf, 0]]
    assert problem.mask.keep.tolist() == [[True, True], [False, True]]
    assert problem.parameters["additive"]["W"].tolist() == [[1, 2]]
    assert loaded.problem.written == {("X", (1, 0)): "-2/1"}
    assert str(loaded.locate(InputError("found nan", key="X", cell=(1, 0)))) == "p.yaml:2:9: X[1,2]: found nan"


def test_labels_in_files_name_queries_and_keys(here):
    here("q.csv", "q1,1\nq2,2\n")
    here("k.csv", ",f\nk1,1\nk2,2\nk3,3\n")
    problem = load(None, matrices={"Q": "q.csv", "K": "k.csv"}).problem
    assert (problem.query_tokens, problem.key_tokens) == (("q1", "q2"), ("k1", "k2", "k3"))
    here("s.csv", ",k1,k2\nq1,1,2\n")
    here("p.yaml", "scores: s.csv\n")
    problem = load("p.yaml").problem
    assert (problem.query_tokens, problem.key_tokens) == (("q1",), ("k1", "k2"))
    here("p.yaml", "X: q.csv\ntokens: [a, b]\n")
    assert load("p.yaml").problem.tokens == ("a", "b")


@pytest.mark.parametrize(
    ("mask", "field", "value"),
    [
        ("{causal: true, offset: -1}", "offset", -1),
        ("{window: 2}", "window", (2, 2)),
        ("{window: [1, null]}", "window", (1, None)),
        ("{lengths: 2}", "lengths", 2),
    ],
)
def test_a_mask_has_parts(here, mask, field, value):
    assert getattr(load(here("p.yaml", f"X: [[1]]\nmask: {mask}\n")).problem.mask, field) == value


def test_a_mask_is_true_and_false_or_one_and_zero(here):
    here("p.yaml", "X: [[1]]\nmask: {drop: [true, FALSE, 1, 0, 1.0, 0.0]}\n")
    assert load("p.yaml").problem.mask.drop.tolist() == [True, False, True, False, True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Q: [[1, 0],\n [2]]\n", "p.yaml:2:2: Q[2]: this row has 1 number, the first has 2; every row needs as many"),
        (
            "Q: [[1,5, 2], [2, 3]]\n",
            "p.yaml:1:15: Q[2]: this row has 2 numbers, the first has 3; every row needs as many "
            "(the comma separates cells: is 1,5 meant as 1.5?)",
        ),
        ("Q:\n- [1]\n- 2\n", "p.yaml:3:3: Q[2]: found '2' where a row belongs; expected a list of numbers, as in the other rows"),
        (
            "Q: [1, 0]\n",
            "p.yaml:1:4: Q: found a flat list of 2, expected a matrix, a list of rows such as [[1, 0], [0, 1]]; "
            "one row is written with double brackets, [[1, 0]]",
        ),
        ("Q: {a: 1}\n", "p.yaml:1:4: Q: found a mapping, expected a matrix, a list of rows such as [[1, 0], [0, 1]]"),
        (
            "Q:\n",
            "p.yaml:1:3: Q: found nothing, expected a matrix, a list of rows such as [[1, 0], [0, 1]]; "
            "leave the key out if it is not given",
        ),
        ("Q: [[], []]\n", "p.yaml:1:4: Q: is 2 × 0, expected at least one row and one column"),
        ("Q: [[1, null]]\n", "p.yaml:1:9: Q[1,2]: found 'null', expected a number; write the number that belongs there"),
        ("Q: [[1, {a: 1}]]\n", "p.yaml:1:9: Q[1,2]: found a mapping, expected a number"),
        (
            "Q: [[1, .nan]]\n",
            "p.yaml:1:9: Q[1,2]: found nan, expected a finite number; an empty place in a matrix has no value: write a number",
        ),
        ("K: [[1, -inf]]\n", "p.yaml:1:9: K[1,2]: found -inf, expected a finite number; only bias may hold -inf, where it masks a score"),
        (
            "bias: [[0, inf]]\n",
            "p.yaml:1:12: bias[1,2]: found inf, expected a finite number or -inf",
        ),
        (
            "X: [[1]]\nmask: {causal: true, offset: -9223372036854775808}\n",
            "p.yaml:2:30: mask.offset: found '-9223372036854775808', expected a whole number, at most 9007199254740992",
        ),
        (
            "X: [[1]]\nmask: {window: [1, 99999999999999999999]}\n",
            "p.yaml:2:16: mask.window: found '99999999999999999999', expected a whole number from 0, at most 9007199254740992",
        ),
        (
            "mask: [[0, -inf]]\n",
            "p.yaml:1:12: mask[1,2]: found '-inf'; expected true or false, 1 or 0 in a mask; "
            "to add numbers to the scores (-inf masks a key) use bias",
        ),
        (
            "mask: casual\n",
            "p.yaml:1:7: mask: found 'casual' (did you mean 'causal'?), "
            "expected causal, a matrix of 1 and 0, a mapping, or the name of a file",
        ),
        ("mask: {causal: yes}\n", "p.yaml:1:16: mask.causal: found 'yes', expected true or false"),
        ("heads: 2.5\n", "p.yaml:1:8: heads: found '2.5', expected a whole number from 1"),
        ("heads: [2]\n", "p.yaml:1:8: heads: found a list of 1, expected a whole number from 1"),
        (
            "temperature: 0\n",
            "p.yaml:1:14: temperature: found '0', expected a number greater than 0; for all weight on one key use mode: hard",
        ),
        ("scale: 50%\n", "p.yaml:1:8: scale: found '50%', expected a number; write 0.5 instead of a percentage"),
        (
            "W_Q: identiy\n",
            "p.yaml:1:6: W_Q: found 'identiy' (did you mean 'identity'?), expected a matrix, the word identity, or the name of a file",
        ),
        ("Q: [[1]]\nW_Q: identity\n", "p.yaml:2:6: W_Q: identity needs X, whose width is its size; give X, or write the matrix out"),
        ("W_Q: [[1]]\nwq: [[2]]\n", "p.yaml:2:1: 'wq' is given a second time; line 1 has it already (spelled W_Q): keep one of the two"),
        (
            "tokens: [a: c]\n",
            "p.yaml:1:10: tokens[1]: found a mapping, expected one label; put a label that holds ': ' or { or [ in quotes",
        ),
        ("X: no.csv\n", "no.csv: X: there is no such file; p.yaml:1:4 names it"),
        (
            "- [1]\n",
            "p.yaml:1:1: found a list of 1, expected keys such as X: or Q:, K: and V:; "
            "name the matrix, as in X: [[1, 0], [0, 1]], or give a bare matrix by option, as in --x p.yaml",
        ),
        ("", "p.yaml: is empty; expected keys such as X: or Q:, K: and V:"),
        (
            "vectors: columns\nweights_layout: in_out\n",
            "p.yaml:2:17: weights_layout: has no place beside vectors: columns, "
            "where W_Q is always stored as h·d_k × d_model; leave it out",
        ),
    ],
)
def test_a_fault_is_one_line_that_names_its_place_and_how_to_mend_it(here, text, message):
    assert refused(here("p.yaml", text)) == message


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("W^Q: [[1]]\n", "p.yaml:1:1: there is no key 'W^Q' (did you mean 'W_Q'?); there are title, tokens, "),
        ("query_weight: [[1]]\n", "p.yaml:1:1: there is no key 'query_weight' (did you mean 'W_Q'?); there are title, tokens, "),
        ("additive: {W_Q: [[1]]}\n", "p.yaml:1:12: additive: there is no part 'W_Q' (did you mean 'W_q'?); there are W, "),
        ("mask: {casual: true}\n", "p.yaml:1:8: mask: there is no part 'casual' (did you mean 'causal'?); there are causal, "),
        ("answers: {wieghts: 1}\n", "p.yaml:1:11: answers: there is no step 'wieghts' (did you mean 'weights'?); there are Q, "),
        ("score: sacled\n", "p.yaml:1:8: score: found 'sacled' (did you mean 'scaled'?), expected one of scaled, "),
        ("X: |\n  [[ 1. 2.]]\n", "p.yaml:1:4: X: found '[[ 1. 2.]]\\n', expected a matrix"),
        ("X: tensor([[1., 2.]])\n", "p.yaml:1:4: X: found 'tensor([[1., 2.]])', expected a matrix"),
    ],
)
def test_an_unknown_word_shows_its_neighbour_and_the_list(here, text, near):
    assert refused(here("p.yaml", text)).startswith(near)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"temperature": "1:30"},
            "--temperature: found '1:30', expected a number; a time or a ratio is no number: write a decimal or a fraction such as 1/30",
        ),
        ({"heads": "x"}, "--heads: found 'x', expected a whole number from 1"),
        ({"mask": "full"}, "--mask: found 'full', expected causal; any other mask stands in the problem's file, as in mask: mask.csv"),
        ({"mask": "casual"}, "--mask: found 'casual' (did you mean 'causal'?), expected causal"),
        ({"mask": " "}, "--mask: found nothing, expected causal; leave the option out if it is not given"),
        ({"dtype": "float16"}, "--dtype: found 'float16', expected float64 or float32"),
    ],
)
def test_an_option_names_itself(here, settings, message):
    here("p.yaml", YAML)
    assert (
        refused("p.yaml", settings=settings).replace(" (did you mean 'float64'?)", "").replace(" (did you mean 'float32'?)", "") == message
    )


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (npz(Q=np.array([[1, None]], dtype=object)), "Python objects"),
        (npz(Q=np.eye(2) * 1j), "complex numbers"),
        (npz(Q=np.array([["a"]])), "texts"),
        (npz(Q=np.eye(2), q=np.eye(2)), "Q is given a second time"),
        (npz(Qs=np.eye(2)), "there is no array 'Qs' (did you mean 'Q'?)"),
        (npz(**{"additive.w_q": np.eye(2)}), "did you mean 'additive.W_q'?"),
        (npz(Q=np.eye(2))[:150], "damaged or cut short"),
        (b"", "damaged or cut short"),
        (npz(mask=np.array([1, 2])), "mask[2]: found 2"),
        (npz(Q=[1.0, 2.0]), "expected a matrix"),
        (npz(Q=1.0), "expected a matrix"),
    ],
)
def test_a_bad_archive_is_refused(here, content, part):
    assert part in refused(here("p.npz", content))


def test_whole_numbers_and_short_floats_become_floats(here):
    problem = load(here("p.npz", npz(Q=np.array([[4_000_000_000]]), K=np.array([[0.5]], dtype="float16"), V=np.array([[np.nan]])))).problem
    assert problem.Q.dtype == problem.K.dtype == np.float64
    assert np.isnan(problem.V[0, 0])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"X.csv": "1,2\n", "X.txt": "1,2\n"}, "hw/X.txt: X is given a second time; hw/X.csv has it already: keep one of the two"),
        (
            {"X.csv": "1,2\n", "problem.yaml": "X: [[1]]"},
            "hw/X.csv: X is given a second time; hw/problem.yaml:1 has it already: keep one of the two",
        ),
        ({"X.csv": "1,2\n", "contxt.csv": "1"}, "hw/contxt.csv: no matrix is called 'contxt' (did you mean 'context'?); there are X, "),
        (
            {"X.csv": "1,2\n", "K.xlsx": "1"},
            "hw/K.xlsx: is no matrix file; a folder that is a problem holds .yaml, .yml, .json, .csv, .tsv, .txt, .dat or .npy files",
        ),
        ({"a.csv": "1"}, "hw: is a folder without X.csv, Q.csv or scores.csv; expected a problem"),
    ],
)
def test_a_folder_must_make_sense(here, files, message):
    for name, content in files.items():
        here(f"hw/{name}", content)
    assert refused("hw").startswith(message)


def test_a_text_in_an_old_encoding_asks_for_its_name(here):
    here("p.yaml", "title: Übung\nX: [[1]]\n".encode("latin-1"))
    assert refused("p.yaml") == (
        "p.yaml:1: is not UTF-8 text (byte 0xdc); give its encoding, as in --encoding latin-1 or --encoding gbk, or save it as UTF-8"
    )
    assert load("p.yaml", encoding="latin-1").problem.title == "Übung"
    with pytest.raises(UsageError, match="--encoding: there is no text encoding 'klingon'"):
        load("p.yaml", encoding="klingon")


@pytest.mark.parametrize("mark", [b"\xff\xfe\0\0", b"\0\0\xfe\xff"])
def test_utf_32_is_read_where_it_is_named(here, mark):
    codec = "utf-32-le" if mark[0] else "utf-32-be"
    here("p.yaml", mark + YAML.encode(codec))
    assert refused("p.yaml") == "p.yaml: is UTF-32 text; give --encoding utf-32, or save it as UTF-8"
    assert load("p.yaml", encoding="utf-32").problem.X.tolist() == X


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\0\0", YAML.encode("utf-16-le"), b"---\n\xef\xbb\xbfX: [[1]]\n"])
def test_what_is_no_text_is_said_to_be_none(here, content):
    assert "zero bytes" in (message := refused(here("p.yaml", content))) or "U+FEFF" in message


def test_a_missing_file_shows_its_neighbour(here):
    here("input.yaml", YAML)
    assert refused("inptu.yaml") == "inptu.yaml: there is no such file (did you mean 'input.yaml'?)"
    assert refused(here("x.csv", "1,2\n")) == "x.csv: holds one matrix, expected a whole problem; say which matrix it is, as in --x x.csv"


def test_what_the_engine_finds_is_located(here):
    here("v.csv", "a,b\n1,2\nnan,3\n")
    here("p.yaml", "Q: [[1]]\nK: [[1], [2]]\nV: v.csv\nadditive:\n  v: [1]\n")
    loaded = load("p.yaml", settings={"heads": "3"})
    assert str(loaded.locate(InputError("found nan", key="V", cell=(1, 0)))) == "v.csv:3:1: V[2,1]: found nan"
    assert str(loaded.locate(InputError("is 1 × 1", key="Q"))) == "p.yaml:1:4: Q: is 1 × 1"
    assert str(loaded.locate(InputError("W is missing", key="additive"))) == "p.yaml:5:6: additive: W is missing"
    assert str(loaded.locate(InputError("is 3", key="heads"))) == "--heads: is 3"
    assert str(loaded.locate(InputError("X is missing"))) == "p.yaml: X is missing"
    assert str(loaded.locate(InputError("is missing", key="X"))) == "p.yaml: X: is missing"


def test_answers_stay_text_with_places(here):
    answers = load(here("p.yaml", "X: [[1]]\nanswers:\n  Weights: [[1/3, 50%, null]]\n")).answers
    assert list(answers) == ["weights"]
    value = answers["weights"]
    assert isinstance(value, Value)
    assert [cell.text for cell in value.node.items[0].items] == ["1/3", "50%", "null"]
    assert str(value.place((0, 1))) == "p.yaml:3:19"


def test_a_single_matrix_can_be_read_alone(here):
    assert load(None, matrices={"X": here("x.tsv", "1\t0.5\n-2\t3\n")}).problem.X.tolist() == X
    assert load(None, matrices={"X": here("x.yaml", "[[1, 0.5], [-2, 3]]")}).problem.X.tolist() == X
    assert load(None, matrices={"X": here("x.npy", npy(np.array(X)))}).problem.X.tolist() == X


def test_a_file_of_a_folder_that_has_a_frameworks_name_is_told_how_to_write(tmp_path):
    (tmp_path / "X.csv").write_text("1,0\n0,1\n")
    (tmp_path / "attn_mask.csv").write_text("1,0\n1,1\n")
    with pytest.raises(InputError, match="drop") as told:
        load(str(tmp_path))
    assert "did you mean" not in str(told.value)
