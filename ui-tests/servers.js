/**
 * The servers under test: each in a process, a folder and on a port of its own.
 *
 * This file is read once by the runner and again by each of its workers; what the runner decided
 * travels in the environment.
 */
const { execFileSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const repo = path.resolve(__dirname, '..');
const python = process.env.JUPYTER_ELASTIC_PYTHON || 'python';

/** Places and a real training; a scripted cluster; one that has trouble; pods, where scripts/cluster_ui.py asks for them. */
const KINDS = (process.env.ELASTIC_UI_KINDS || 'local,fake,trouble').split(',');

/** What the runner decides once. */
function decide(name, value) {
  process.env[name] = process.env[name] || value();
  return process.env[name];
}

/** Unix sockets have a limit of 107 bytes, so the folder's name is short. */
const folder = decide('ELASTIC_UI_FOLDER', () =>
  fs.mkdtempSync(
    path.join(fs.existsSync('/tmp') ? '/tmp' : os.tmpdir(), 'jeu-')
  )
);

const FREE_PORTS = `
import socket
probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(${KINDS.length})]
print(",".join(str(probe.getsockname()[1]) for probe in probes))
`;

const ports = decide('ELASTIC_UI_PORTS', () =>
  execFileSync(python, ['-c', FREE_PORTS], { encoding: 'utf8' }).trim()
).split(',');

/** The environment with Horovod; built where the machine's cache has none. */
const training = decide('JUPYTER_ELASTIC_TRAINING_ENV', () =>
  execFileSync('python3', [path.join(repo, 'scripts', 'training_env.py')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit']
  }).trim()
);

/** The tutorial's own folder where it can be had, so that its command is met to the letter. */
const hostFolder = decide('ELASTIC_UI_HOST_FOLDER', () => {
  const wanted = '/etc/mpi';
  const root = process.getuid && process.getuid() === 0;
  const free = !fs.existsSync(wanted) || fs.readdirSync(wanted).length === 0;
  return root && free ? wanted : path.join(folder, 'mpi');
});

function home(kind) {
  return path.join(folder, kind);
}

/** Folders of one server: home, work, and what its users would have there. */
function prepare(kind) {
  const work = path.join(home(kind), 'work');
  const kernel = path.join(home(kind), 'data', 'kernels', 'elastic-training');
  fs.mkdirSync(work, { recursive: true });
  fs.mkdirSync(kernel, { recursive: true });
  const spec = {
    argv: [
      path.join(training, 'bin', 'python'),
      '-m',
      'ipykernel_launcher',
      '-f',
      '{connection_file}'
    ],
    display_name: 'Python (elastic training)',
    language: 'python'
  };
  fs.writeFileSync(path.join(kernel, 'kernel.json'), JSON.stringify(spec));
  const examples = path.join(repo, 'examples');
  const own = path.join(repo, 'tests', 'story', 'own_elastic.py');
  for (const file of [
    ...fs.readdirSync(examples).map(name => path.join(examples, name)),
    own
  ]) {
    if (fs.statSync(file).isFile()) {
      fs.copyFileSync(file, path.join(work, path.basename(file)));
    }
  }
}

function environment(kind) {
  return {
    CI: process.env.CI || '',
    ELASTIC_UI_KIND: kind,
    ELASTIC_UI_FOLDER: folder,
    ELASTIC_UI_HOST_FOLDER: hostFolder,
    ELASTIC_UI_TRAITS: process.env.ELASTIC_UI_TRAITS || '',
    ELASTIC_UI_PORT: port(kind),
    HOME: home(kind),
    JUPYTERLAB_GALATA_ROOT_DIR: path.join(home(kind), 'work'),
    JUPYTER_CONFIG_DIR: path.join(home(kind), 'config'),
    JUPYTER_CONFIG_PATH: '',
    JUPYTER_DATA_DIR: path.join(home(kind), 'data'),
    JUPYTER_ELASTIC_RUNTIME_DIR: path.join(home(kind), 'r'),
    JUPYTER_ELASTIC_STATE_DIR: path.join(home(kind), 's'),
    JUPYTER_PATH: '',
    JUPYTER_RUNTIME_DIR: path.join(home(kind), 'runtime'),
    PATH: [path.dirname(python), process.env.PATH]
      .filter(part => part !== '.')
      .join(path.delimiter),
    SHELL: '/bin/bash'
  };
}

function port(kind) {
  return ports[KINDS.indexOf(kind)];
}

function url(kind) {
  return `http://127.0.0.1:${port(kind)}`;
}

/** How Playwright starts one of them. */
function webServer(kind) {
  const log = path.join(home(kind), 'server.log');
  const config = path.join(__dirname, 'jupyter_server_test_config.py');
  return {
    command: `exec "${python}" -m jupyterlab --config="${config}" >"${log}" 2>&1 </dev/null`,
    url: `${url(kind)}/api`,
    env: environment(kind),
    timeout: 120_000,
    reuseExistingServer: false,
    gracefulShutdown: { signal: 'SIGTERM', timeout: 10_000 }
  };
}

module.exports = { KINDS, folder, home, hostFolder, prepare, url, webServer };
