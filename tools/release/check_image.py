"""Executes the steps of examples/operating/Containerfile without a container runtime, then runs the image.

    npm run check:image -- [--copy PATH]... [--cache PATH] [--keep] [--made PATH]

Needs root, git, mmdebstrap and setpriv. Each stage is a Debian root made by mmdebstrap, with this machine's Node and npm
in place of the base image. Then the server runs as the user of the image, on a read-only root and without capabilities,
and must become healthy and ready, answer requests, keep its data over a restart, and end in good order. `--copy` names
files of this machine that the steps need, such as certificates and settings of package managers. `--cache` names a cache
folder whose models the server gets, where the hub cannot be reached. `--keep` keeps the roots and prints their folder,
and `--made` runs the image of such a folder without executing the steps again.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from dockerfile_parse import DockerfileParser

REPOSITORY = Path(__file__).resolve().parents[2]
CONTAINERFILE = REPOSITORY / 'examples/operating/Containerfile'
KNOWN = {'ARG', 'FROM', 'SHELL', 'RUN', 'WORKDIR', 'COPY', 'ENV', 'USER', 'VOLUME', 'EXPOSE', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'}
PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
#: Settings that the steps take from this machine.
PASSED = re.compile(r'^(npm_config_|NPM_CONFIG_|PIP_|SSL_|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy)', re.IGNORECASE)
START_S = 300


def run(*command: str, **options: object) -> None:
    subprocess.run(command, check=True, **options)


class Stage:
    """A root folder, and what the instructions said about it so far."""

    def __init__(self, folder: Path, copied: list[str]) -> None:
        self.root = folder
        #: The root has what the steps make.
        self.is_made = folder.exists()
        self.workdir = '/'
        self.shell = ['/bin/sh', '-c']
        self.args: dict[str, str] = {}
        self.env: dict[str, str] = {'PATH': PATH}
        self.user = '0:0'
        self.volumes: list[str] = []
        self.entrypoint: list[str] = []
        self.command: list[str] = []
        self.health: list[str] = []
        self.copied = ['/etc/resolv.conf', '/etc/hosts', *copied]
        if self.is_made:
            return
        run('mmdebstrap', '--quiet', '--variant=minbase', 'bookworm', str(folder))
        node = Path(shutil.which('node') or 'node').resolve()
        npm = Path(shutil.which('npm') or 'npm').resolve().parents[1]
        shutil.copy(node, folder / 'usr/local/bin/node')
        modules = folder / 'usr/local/lib/node_modules'
        shutil.copytree(npm, modules / 'npm', symlinks=True)
        for name in ('npm', 'npx'):
            (folder / 'usr/local/bin' / name).symlink_to(f'../lib/node_modules/npm/bin/{name}-cli.js')
    def copy_settings(self) -> None:
        """Copies this machine's files, also those that a step before has overwritten."""
        for path in self.copied:
            target = self.root / path.lstrip('/')
            target.parent.mkdir(parents=True, exist_ok=True)
            run('cp', '--recursive', '--dereference', '--remove-destination', '--no-target-directory', path, str(target))

    def inside(self, path: str) -> Path:
        return self.root / os.path.normpath(os.path.join(self.workdir, path)).lstrip('/')

    def text(self, value: str) -> str:
        """Returns the value of ENV or ARG with the variables that it names."""
        names = {**self.args, **self.env}
        return re.sub(r'\$\{(\w+)\}', lambda match: names.get(match[1], ''), value.strip('"'))

    def step(self, script: str) -> None:
        """Executes a RUN in namespaces of its own, so that no process outlives it."""
        if self.is_made:
            return
        self.copy_settings()
        passed = {name: value for name, value in os.environ.items() if PASSED.match(name)}
        env = {**passed, 'HOME': '/root', **self.args, **self.env, 'DEBIAN_FRONTEND': 'noninteractive'}
        mounts = 'mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; cd /; root="$1" dir="$2"; shift 2; '
        enter = 'exec chroot "$root" /bin/sh -c \'cd "$0" && exec "$@"\' "$dir" "$@"'
        run(
            *('unshare', '--mount', '--pid', '--fork', '--kill-child'),
            *('sh', '-euc', mounts + enter, 'sh', str(self.root), self.workdir, *self.shell, script),
            env=env,
        )


def words(value: str) -> list[str]:
    """Returns the arguments of an instruction in its JSON form, or divided at spaces."""
    return json.loads(value) if value.startswith('[') else value.split()


def copy(stage: Stage, sources: list[Path], target: str) -> None:
    to = stage.inside(target)
    if stage.is_made:
        return
    for source in sources:
        if source.is_dir():
            shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True)
        else:
            to.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, to / source.name)


def build(work: Path, copied: list[str]) -> Stage:
    """Executes all stages. Returns the last one, which is the image."""
    context = work / 'context'
    if not context.exists():
        run('git', 'clone', '--quiet', '--no-local', str(REPOSITORY), str(context))
        shutil.rmtree(context / '.git')  # examples/operating/Containerfile.dockerignore leaves it out
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    arguments: dict[str, str] = {}
    for entry in DockerfileParser(fileobj=CONTAINERFILE.open('rb')).structure:
        name, value = entry['instruction'], entry['value']
        if name == 'COMMENT':
            continue
        if name not in KNOWN:
            raise SystemExit(f'{CONTAINERFILE.name} has {name}, which {Path(__file__).name} does not know')
        print(f'== {name} {value[:100]}', flush=True)
        if name == 'FROM':
            label = words(value)[2] if ' AS ' in value else str(len(stages))
            stage = stages[label] = Stage(work / f'stage-{label}', copied)
        elif stage is None:
            key, _, default = value.partition('=')
            arguments[key] = default
        elif name == 'ARG':
            key, _, default = value.partition('=')
            stage.args[key] = stage.text(default)
        elif name == 'ENV':
            for key, text in re.findall(r'(\w+)=("[^"]*"|\S*)', value):
                stage.env[key] = stage.text(text)
        elif name == 'RUN':
            stage.step(value)
        elif name == 'COPY':
            parts = value.split()
            origin = stages[parts.pop(0).removeprefix('--from=')].root if parts[0].startswith('--from=') else context
            *sources, target = parts
            copy(stage, [origin / source.lstrip('/') for source in sources], target)
        elif name == 'WORKDIR':
            stage.workdir = os.path.join(stage.workdir, value)
            stage.inside('.').mkdir(parents=True, exist_ok=True)
        elif name == 'SHELL':
            stage.shell = words(value)
        elif name == 'USER':
            stage.user = value
        elif name == 'VOLUME':
            stage.volumes = words(value)
        elif name == 'HEALTHCHECK':
            stage.health = words(value[value.index('CMD ') + 4 :])
        elif name == 'ENTRYPOINT':
            stage.entrypoint = words(value)
        elif name == 'CMD':
            stage.command = words(value)
    if stage is None:
        raise SystemExit(f'{CONTAINERFILE.name} has no stage')
    return stage


class Container:
    """The image on a read-only root. Its volumes are folders that outlive it, except /tmp and /run/aana-host."""

    def __init__(self, image: Stage, volumes: Path, port: int) -> None:
        self.image = image
        self.port = port
        uid, gid = image.user.split(':')
        lines = ['mount --bind "$1" "$1"', 'mount -o remount,bind,ro "$1"', 'mount -t proc proc "$1/proc"', 'mount --rbind /dev "$1/dev"']
        for volume in image.volumes:
            if volume in ('/tmp', '/run/aana-host'):
                lines.append(f'mount -t tmpfs -o uid={uid},gid={gid},mode=0700 tmpfs "$1{volume}"')
            else:
                kept = volumes / volume.strip('/')
                kept.mkdir(parents=True, exist_ok=True)
                os.chown(kept, int(uid), int(gid))
                lines.append(f'mount --bind "{kept}" "$1{volume}"')
        self.drop = ('setpriv', f'--reuid={uid}', f'--regid={gid}', '--clear-groups', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all')
        lines.append(f'root="$1"; shift; exec chroot "$root" {" ".join(self.drop)} sh -c \'cd "$0" && exec "$@"\' {image.workdir} "$@"')
        self.env = {**image.env, 'AANA_PORT': str(port)}
        self.process = subprocess.Popen(
            ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-euc', '; '.join(lines), 'sh', str(image.root)]
            + image.entrypoint + image.command,
            env=self.env,
        )
        self.shim = self.process.pid

    def first(self) -> int:
        """Returns the process id of the image's first process."""
        children = Path(f'/proc/{self.shim}/task/{self.shim}/children').read_text().split()
        return int(children[0])

    def exec(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command inside, as `docker exec` does."""
        return subprocess.run(
            ['nsenter', '--mount', '--pid', f'--target={self.first()}', 'chroot', str(self.image.root), *self.drop, *command],
            env=self.env, capture_output=True, text=True,
        )

    def wait(self, path: str) -> None:
        end = time.monotonic() + START_S
        while True:
            if self.process.poll() is not None:
                raise SystemExit(f'the server ended with {self.process.returncode}')
            try:
                with urllib.request.urlopen(f'http://127.0.0.1:{self.port}{path}', timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                pass
            if time.monotonic() > end:
                raise SystemExit(f'{path} did not answer 200 within {START_S} s')
            time.sleep(0.5)

    def post(self, path: str, body: object) -> dict[str, object]:
        request = urllib.request.Request(
            f'http://127.0.0.1:{self.port}{path}', json.dumps(body).encode(), {'content-type': 'application/json'}
        )
        with urllib.request.urlopen(request, timeout=START_S) as answer:
            return json.load(answer)

    def stop(self) -> int:
        os.kill(self.first(), signal.SIGTERM)
        return self.process.wait(timeout=120)


def expect(what: str, is_so: bool, detail: object = '') -> None:
    print(f'{"ok  " if is_so else "FAIL"} {what} {detail}'.rstrip(), flush=True)
    if not is_so:
        raise SystemExit(1)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


def check(image: Stage, work: Path, cache: str | None) -> None:
    tools = [tool for tool in ('gcc', 'cc', 'g++', 'make', 'cmake', 'git') if (image.root / 'usr/bin' / tool).exists()]
    expect('the image has no compiler', tools == [], tools)
    volumes = work / 'volumes'
    shutil.rmtree(volumes, ignore_errors=True)
    if cache:
        shutil.copytree(Path(cache) / 'models', volumes / 'cache/models')
        run('chown', '--recursive', image.user, str(volumes / 'cache'))
    server = Container(image, volumes, free_port())
    server.wait('/livez')
    health = server.exec(*image.health)
    expect('the health check passes', health.returncode == 0, health.stderr)
    server.wait('/readyz')
    identity = server.exec('sh', '-c', 'id -u; id -g; grep CapEff /proc/self/status; touch /opt/x /etc/x')
    expect('it runs as 10001 without capabilities', identity.stdout.split() == ['10001', '10001', 'CapEff:', '0' * 16], identity.stdout)
    expect('its root is read-only', identity.stderr.count('Read-only file system') == 2, identity.stderr)
    status = server.exec('aana-host', 'status')
    expect('`aana-host status` answers inside', status.returncode == 0, status.stderr)
    with urllib.request.urlopen(f'http://127.0.0.1:{server.port}/openapi.json') as answer:
        expect('the OpenAPI document is served', 'paths' in json.load(answer))
    with urllib.request.urlopen(f'http://127.0.0.1:{server.port}/v1/models') as answer:
        models = [model['id'] for model in json.load(answer)['data']]
    chat = {'model': 'llm_deployment', 'max_tokens': 8, 'messages': [{'role': 'user', 'content': 'Say hello.'}]}
    if chat['model'] in models:
        answered = server.post('/v1/chat/completions', chat)
        expect('the language model answers', answered['usage']['completion_tokens'] > 0, answered['choices'][0]['message']['content'])
    expect('SIGTERM ends it with 0', server.stop() == 0)
    again = Container(image, volumes, free_port())
    again.wait('/readyz')
    expect('it starts again on the same volumes', True)
    expect('SIGTERM ends it with 0', again.stop() == 0)
    sizes = subprocess.run(['du', '-sm', str(image.root)], capture_output=True, text=True, check=True).stdout
    print(f'the image has {sizes.split()[0]} MB')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--copy', action='append', default=[], metavar='PATH')
    parser.add_argument('--cache', metavar='PATH')
    parser.add_argument('--keep', action='store_true')
    parser.add_argument('--made', metavar='PATH')
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit('mmdebstrap, chroot and mount need root')
    missing = [name for name in ('git', 'mmdebstrap', 'setpriv') if shutil.which(name) is None]
    if missing:
        sys.exit(f'install {", ".join(missing)}: apt-get install git mmdebstrap util-linux')
    work = Path(options.made or tempfile.mkdtemp(prefix='aana-image-'))
    try:
        check(build(work, options.copy), work, options.cache)
    finally:
        if options.keep or options.made:
            print(work)
        else:
            shutil.rmtree(work)


main()
