"""Guards of a rehearsal: nothing outside its folder changes, nobody is asked, and the script sees what it would see."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from tests.helpers.rehearsal_parts import Played, play

GUARDS = ("guards",)


def guard(place: Path, source: str, **order: str) -> Played:
    """Run a script under guards alone."""
    return play(place, source, GUARDS, **order)  # type: ignore[arg-type] # they are fields of an order


def tree(folder: Path) -> dict[str, str]:
    """Return what lies in a folder: hashes of files, targets of links, names of folders."""
    told = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith("rehearsal"):
            continue
        if path.is_symlink():
            told[name] = f"-> {path.readlink()}"
        else:
            told[name] = "folder" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()
    return told


WRITES = """
import bz2, gzip, io, json, logging, os, pathlib, pickle, shutil, sqlite3, tempfile, zipfile
from beside import helper
open("new.txt", "w").write("new")
with open("old.txt", "a") as file:
    file.write("more")
with open("old.txt", "r+") as file:
    file.write("O")
pathlib.Path("deep/er").mkdir(parents=True)
pathlib.Path("deep/er/a.txt").write_text("a")
pathlib.Path("data/rows.jsonl").write_bytes(b"{}")
os.makedirs("out", exist_ok=True)
io.open("out/b.txt", "x").write("b")
fd = os.open("out/c.txt", os.O_WRONLY | os.O_CREAT); os.write(fd, b"c"); os.close(fd)
shutil.copy("data/rows.jsonl", "copy.jsonl")
shutil.copytree("data", "data2")
shutil.move("copy.jsonl", "moved.jsonl")
os.rename("old2.txt", "new2.txt")
os.remove("old3.txt")
pathlib.Path("old4.txt").unlink()
shutil.rmtree("data3")
os.symlink("old.txt", "link.txt")
os.chmod("old.txt", 0o600)
os.utime("old.txt", (1, 1))
gzip.open("a.gz", "wt").write("z")
bz2.open("a.bz2", "wb").close()
with zipfile.ZipFile("a.zip", "w") as archive:
    archive.writestr("x", "y")
pickle.dump(1, open("a.pkl", "wb"))
logging.FileHandler("run.log").emit(logging.makeLogRecord({"msg": "said"}))
base = sqlite3.connect("a.db"); base.execute("create table t (a)"); base.commit(); base.close()
with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
    file.write("t")
os.rename(file.name, "from_temp.txt")
print(open("old.txt").read(), open("new2.txt").read(), os.path.exists("old2.txt"), os.path.exists("old3.txt"))
print(sorted(os.listdir(".")) == sorted(each.name for each in os.scandir(".")) == sorted(p.name for p in pathlib.Path().iterdir()))
print(sorted(os.listdir("out")), sorted(os.listdir("data")), sorted(os.listdir("data2")), os.path.isdir("data3"))
print(sorted(os.path.join(top, name) for top, _, names in os.walk("deep") for name in names), sorted(map(str, pathlib.Path("out").glob("*.txt"))))
print(gzip.open("a.gz", "rt").read(), zipfile.ZipFile("a.zip").read("x"), pickle.load(open("a.pkl", "rb")), open("run.log").read().strip())
print(sqlite3.connect("a.db").execute("select count(*) from t").fetchone(), open("from_temp.txt").read(), oct(os.stat("old.txt").st_mode & 0o777))
print(os.path.getsize("moved.jsonl"), open(os.path.abspath("new.txt")).read(), os.getcwd() == os.path.dirname(os.path.abspath(__file__)))
"""


def seed(place: Path) -> Path:
    """Make the folder that the user's script lies in."""
    work = place / "work"
    for name in (
        "old.txt",
        "old2.txt",
        "old3.txt",
        "old4.txt",
        "data/rows.jsonl",
        "data/more.txt",
        "data3/x",
        "out/a.txt",
    ):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("old")
    (work / "beside.py").write_text("def helper(): ...\n")
    (work / "script.py").write_text("")
    return work


def test_what_is_written_is_seen_and_lies_elsewhere(tmp_path: Path) -> None:
    """All ways of Python to write, move and delete: the script sees its work, and the user's folder is as it was."""
    work = seed(tmp_path)
    (work / "script.py").write_text(WRITES)
    before = tree(tmp_path)
    done = guard(tmp_path, WRITES)
    assert done.code == 0, done.errors
    assert tree(tmp_path) == before
    assert done.printed == [
        "Oldmore old False False",
        "True",
        "['a.txt', 'b.txt', 'c.txt'] ['more.txt', 'rows.jsonl'] ['more.txt', 'rows.jsonl'] False",
        "['deep/er/a.txt'] ['out/a.txt', 'out/b.txt', 'out/c.txt']",
        "z b'y' 1 said",
        "(0,) t 0o600",
        "2 new True",
    ]
    assert {Path(each["path"]).name for each in done.facts("kept")} == {"old2.txt", "old3.txt", "old4.txt", "data3"}
    assert done.facts("wrote") == []


def test_the_same_script_without_guards_prints_the_same(tmp_path: Path) -> None:
    """What the script sees is what it would see in reality."""
    seed(tmp_path)
    real = play(tmp_path, WRITES, ())
    again = tmp_path / "again"
    again.mkdir()
    seed(again)
    assert real.code == 0, real.errors
    assert guard(again, WRITES).printed == real.printed


def test_a_folder_that_is_made_anew(tmp_path: Path) -> None:
    """A script that clears its output folder first finds it empty, and may clear it twice."""
    work = seed(tmp_path)
    source = """
import os, shutil
for turn in range(2):
    if os.path.exists("out"):
        shutil.rmtree("out")
    os.makedirs("out")
    print(os.listdir("out"), os.path.exists("out/a.txt"))
    open("out/b.txt", "w").close()
os.remove("out/b.txt")
os.rmdir("out")
print(os.path.exists("out"))
"""
    done = guard(tmp_path, source)
    assert done.printed == ["[] False", "[] False", "False"], done.errors
    assert (work / "out/a.txt").read_text() == "old"


@pytest.mark.parametrize(
    "line",
    [
        "open('none/a.txt', 'w')",
        "open('old.txt/a', 'w')",
        "open('out', 'w')",
        "open('old.txt', 'x')",
        "open('nothing.txt')",
        "open('nothing.txt', 'r+')",
        "os.mkdir('out')",
        "os.mkdir('none/deep')",
        "os.makedirs('old.txt')",
        "os.makedirs('old.txt/a')",
        "os.remove('nothing.txt')",
        "os.remove('out')",
        "os.rmdir('out')",
        "os.rmdir('nothing')",
        "os.rename('nothing', 'b')",
        "os.rename('old.txt', 'none/b')",
        "os.listdir('nothing')",
        "os.scandir('nothing')",
        "os.listdir('old.txt')",
        "os.chdir('nothing')",
        "os.stat('nothing')",
        "os.chmod('nothing', 0o600)",
        "os.symlink('a', 'old.txt')",
        "shutil.rmtree('nothing')",
        "shutil.copy('nothing', 'b')",
        "pathlib.Path('out').mkdir()",
        "pathlib.Path('none/a').write_text('')",
        "pathlib.Path('nothing').unlink()",
        "open('/proc/none/a', 'w')",
        "open('/sys/kernel/none', 'w')",
        "os.makedirs('/proc/none')",
    ],
)
def test_errors_are_those_of_the_file_system(tmp_path: Path, line: str) -> None:
    """Whatever cannot be written, read or deleted raises the same as without guards, of the same path."""
    seed(tmp_path)
    source = f"""
import os, pathlib, shutil
open("first.txt", "w").close()
try:
    {line}
except OSError as error:
    print(type(error).__name__, error.errno, error.filename)
"""
    real, guarded = play(tmp_path, source, ()), guard(tmp_path, source)
    assert real.printed
    assert guarded.printed == real.printed


def test_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    """A place that this user may not write to, or a file that is read-only, is refused as it is in reality, and told."""
    seed(tmp_path)
    source = """
import os
if os.geteuid() == 0:
    os.seteuid(65534)
for do in (lambda: open("/etc/none.txt", "w"), lambda: open("/etc/hostname", "a"), lambda: os.makedirs("/etc/none/deep")):
    try:
        do()
    except OSError as error:
        print(type(error).__name__, error.errno, error.filename)
"""
    real, guarded = play(tmp_path, source, ()), guard(tmp_path, source)
    assert real.printed[0] == "PermissionError 13 /etc/none.txt"
    assert guarded.printed == real.printed
    assert [each["path"] for each in guarded.facts("unwritable")] == ["/etc/none.txt", "/etc/hostname"]


def test_folders_that_are_changed_to(tmp_path: Path) -> None:
    """A script may go to a folder that it made, and finds its own and the user's files from there."""
    seed(tmp_path)
    source = """
import os, pathlib
os.makedirs("work/here")
os.chdir("work/here")
open("a.txt", "w").write("a")
print(pathlib.Path.cwd().name, os.path.exists("a.txt"), open("../../old.txt").read(), os.path.abspath("a.txt").endswith("work/work/here/a.txt"))
os.chdir("../..")
print(open("work/here/a.txt").read(), pathlib.Path("old.txt").read_text())
"""
    assert guard(tmp_path, source).printed == ["here True old True", "a old"]


def test_children_are_watched(tmp_path: Path) -> None:
    """Installers, launchers, senders and what changes files are not run; others are, in the group that is ended together."""
    source = """
import os, subprocess, sys, multiprocessing
print(subprocess.run(["pip", "install", "nothing-of-the-sort"]).returncode, os.system("pip install -q nothing-of-the-sort && uv pip install x"))
print(subprocess.check_output([sys.executable, "-m", "pip", "install", "x"]), os.system("rm -rf data"), os.system("echo a > b.txt"))
print(subprocess.call(["accelerate", "launch", "train.py"]), subprocess.call([sys.executable, "-m", "torch.distributed.run", "a.py"]))
print(subprocess.run("huggingface-cli upload a b", shell=True).returncode, os.system("git push"))
print(subprocess.check_output([sys.executable, "-c", "print(3)"], text=True).strip(), os.popen("echo four").read().strip(), os.system("exit 5") >> 8)
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
print(os.getpgid(child.pid) == os.getpgid(0)); child.kill(); child.wait()
pool = multiprocessing.get_context("fork").Pool(2)
print(pool.map(abs, [-1, -2]))
pool.close(); pool.join()
try:
    subprocess.run(["no-such-program"])
except FileNotFoundError as error:
    print(error.filename)
"""
    seed(tmp_path)
    done = guard(tmp_path, source)
    assert done.printed == ["0 0", "b'' 0 0", "0 0", "0 0", "3 four 5", "True", "[1, 2]", "no-such-program"], (
        done.errors
    )
    assert (tmp_path / "work/data/rows.jsonl").exists()
    assert not (tmp_path / "work/b.txt").exists()
    assert "`pip install nothing-of-the-sort`" in done.not_rehearsed
    assert "`accelerate launch train.py`" in done.not_rehearsed
    assert "sleep 60" in [each["command"] for each in done.facts("child")]


def test_programs_of_the_users_own_are_run_if_they_only_prepare(tmp_path: Path) -> None:
    """In the guards and by this Python; what trains, and scripts of the shell, are not, and that they may make files is told."""
    source = """
import os, subprocess
from pathlib import Path
Path("own").mkdir(); os.system("mkdir -p raw/deep other")
print(os.path.isdir("raw/deep"), os.path.isdir("other"))
print(os.system("python prepare.py raw/deep/rows.txt"), open("raw/deep/rows.txt").read())
print(subprocess.run(["python", "train.py"]).returncode, subprocess.run(["python", "-m", "train"]).returncode)
print(os.system("bash make.sh"), subprocess.run(["bash", "-c", "echo inner"]).returncode, os.system("./make.sh"))
print(os.system("git clone a"), os.system("rm -r own"), os.system("hf auth login"), os.system("mkdir -p own && curl -o own/x http://a.b"))
"""
    seed(tmp_path)
    work = tmp_path / "work"
    (work / "prepare.py").write_text("import sys\nopen(sys.argv[1], 'w').write(sys.prefix)")
    (work / "train.py").write_text("from trl import SFTTrainer\nraise SystemExit(3)")
    (work / "make.sh").write_text("exit 4")
    done = guard(tmp_path, source)
    assert done.printed == ["True True", f"0 {sys.prefix}", "0 0", "inner", "0 0 0", "0 0 0 0"], done.errors
    assert not (work / "raw").exists()
    commands = [each["command"] for each in done.facts("not_run")]
    makers = ["python train.py", "python -m train", "bash make.sh", "./make.sh", "git clone a"]
    assert commands == [*makers, "mkdir -p own && curl -o own/x http://a.b"]


def test_lines_of_the_shell_in_a_notebook_are_told(tmp_path: Path) -> None:
    """What they may make is not made; folders are."""
    cells = [
        "!pip install trl\n!mkdir -p raw\nx = 1",
        "%%writefile own.py\nx = 1",
        ["%%bash\n", "wget http://a.b/c\n", "ls\n"],
    ]
    notebook = {"cells": [{"cell_type": "code", "source": each} for each in cells]}
    (tmp_path / "own.ipynb").write_text(json.dumps(notebook))
    source = "import os\nprint(os.path.isdir('raw'))"
    done = guard(tmp_path, source, script=str(tmp_path / "own.ipynb"))
    assert done.printed == ["True"], done.errors
    assert [each["command"] for each in done.facts("not_run")] == ["%%writefile own.py", "wget http://a.b/c"]


def test_nobody_is_asked(tmp_path: Path) -> None:
    """Questions raise what they raise without a terminal; browsers and debuggers are passed over."""
    source = """
import getpass, webbrowser
for ask in (input, getpass.getpass):
    try:
        ask("Your name? ")
    except EOFError as error:
        print(error)
print(webbrowser.open("nowhere"))
breakpoint()
import pdb; pdb.set_trace()
from huggingface_hub import login, interpreter_login, notebook_login
for each in (login, interpreter_login):
    try:
        each()
    except EOFError as error:
        print(error)
"""
    done = play(tmp_path, source, GUARDS, {"HF_HUB_OFFLINE": "0", "HF_TOKEN": "", "HF_HOME": str(tmp_path / "home")})
    assert done.printed[:3] == [
        "EOF when reading a line: the script waits for a person to answer 'Your name? '",
        "EOF when reading a line: the script waits for a person to answer 'Your name? '",
        "True",
    ], done.errors
    assert "the Hub asks for a login" in "".join(done.printed[3:]) or done.code


def test_ways_to_leave(tmp_path: Path) -> None:
    """`exec` is told and not done; `os._exit` is told; long sleeps of the script's own are short."""
    done = guard(tmp_path, "import os, time\ntime.sleep(100)\nos.execvp('python', ['python', 'other.py'])")
    assert (done.code, done.not_rehearsed) == (0, ["becoming `python other.py`"])
    assert [each["asked"] for each in done.told if each["event"] == "shrunk"] == [100]
    done = guard(tmp_path, "import os\nos._exit(3)")
    assert (done.code, [each["code"] for each in done.facts("os._exit")]) == (3, [3])
    assert guard(tmp_path, "import sys\nsys.exit(4)").code == 4


def test_no_network_but_loopback(tmp_path: Path) -> None:
    """Other hosts are refused by an OSError that says so; loopback is not."""
    source = """
import socket, threading, urllib.request
server = socket.create_server(("127.0.0.1", 0))
with socket.create_connection(server.getsockname()):
    print("connected")
for reach in (
    lambda: socket.create_connection(("example.org", 80)),
    lambda: socket.create_connection(("192.0.2.1", 80)),
    lambda: urllib.request.urlopen("http://example.org/rows.json"),
):
    try:
        reach()
    except OSError as error:
        print("only reads from the Hub" in str(error))
"""
    done = guard(tmp_path, source)
    assert done.printed == ["connected", "True", "True", "True"], done.errors
    assert "connections to example.org" in done.not_rehearsed


def test_tokens_are_not_saved(tmp_path: Path) -> None:
    """A script's own login leaves the user's saved token alone."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "token").write_text("hf_of_the_user")
    source = """
from huggingface_hub import get_token, constants
open(constants.HF_TOKEN_PATH, "w").write("hf_of_the_script")
print(open(constants.HF_TOKEN_PATH).read())
"""
    done = play(tmp_path, source, GUARDS, {"HF_HOME": str(home), "HF_TOKEN": ""})
    assert done.printed == ["hf_of_the_script"], done.errors
    assert (home / "token").read_text() == "hf_of_the_user"


def test_what_cannot_be_kept_away_is_told(tmp_path: Path) -> None:
    """A file that is opened by other means than those that are covered is told as written."""
    done = guard(tmp_path, "import io\nio.FileIO('raw.bin', 'w').write(b'x')")
    assert [Path(each["path"]).name for each in done.facts("wrote")] == ["raw.bin"]


LIBRARIES = """
import os
import numpy, pandas, torch
from datasets import Dataset, load_dataset, load_from_disk
from safetensors import safe_open
from safetensors.torch import load_file, save_file
torch.save({"a": torch.ones(2)}, "old.txt")
print(torch.load("old.txt")["a"].sum().item(), torch.load("old.txt", mmap=True)["a"].sum().item())
save_file({"a": torch.ones(3)}, "out/model.safetensors", metadata={"format": "pt"})
print(load_file("out/model.safetensors")["a"].sum().item(), list(safe_open("out/model.safetensors", "pt").keys()))
numpy.save("a.npy", numpy.ones(2)); print(numpy.load("a.npy", mmap_mode="r").sum())
frame = pandas.DataFrame({"a": [1, 2]})
frame.to_csv("a.csv"); frame.to_parquet("a.parquet"); frame.to_json("a.json")
print(len(pandas.read_csv("a.csv")), len(pandas.read_parquet("a.parquet")), len(pandas.read_json("a.json")))
rows = Dataset.from_dict({"a": [1, 2, 3]})
rows.save_to_disk("saved"); rows.to_json("rows.jsonl"); rows.to_parquet("rows.parquet"); rows.to_csv("rows.csv")
print(load_from_disk("saved").map(lambda row: {"b": row["a"] + 1})["b"][:])
for kind, name in (("json", "rows.jsonl"), ("parquet", "rows.parquet"), ("csv", "rows.csv")):
    print(load_dataset(kind, data_files=name, split="train").num_rows, end=" ")
print(load_dataset("json", data_files="*.jsonl", split="train").num_rows)
from torch.utils.tensorboard import SummaryWriter
"""


@pytest.mark.long
@pytest.mark.train
def test_libraries_that_open_files_themselves(tmp_path: Path) -> None:
    """torch, safetensors, numpy, pandas and datasets write into the rehearsal's folder, and read from there."""
    seed(tmp_path)
    source = LIBRARIES.rpartition("from torch")[0]
    (tmp_path / "work/script.py").write_text(source)
    before = tree(tmp_path / "work")
    done = play(tmp_path, source, GUARDS, {"HF_HOME": str(tmp_path / "home")})
    assert done.printed == ["2.0 2.0", "3.0 ['a']", "2.0", "2 2 2", "[2, 3, 4]", "3 3 3 3"], done.errors
    assert tree(tmp_path / "work") == before
    assert done.facts("wrote") == []


@pytest.mark.train
def test_a_tracker_is_left_in_peace(tmp_path: Path) -> None:
    """Trackio is imported for real and says nothing to anybody; a tracker that is not installed fails as it does."""
    source = """
import trackio
run = trackio.init(project="a", space_id="me/space")
trackio.log({"loss": 1.0}); run.log({"loss": 2}); print(f"{run.id}|{run.config['a']}|"); trackio.finish()
import wandb
"""
    done = play(tmp_path, source, GUARDS, {"HF_HOME": str(tmp_path / "home")})
    assert done.printed == ["||"], done.errors
    assert done.not_rehearsed == ["tracking with trackio"]
    assert "No module named 'wandb'" in done.errors
