/** After the last test: nothing may live on, and the servers' logs are kept with the results. */
const fs = require('fs');
const path = require('path');
const { KINDS, home, url } = require('./servers');

const RELEASE_SECONDS = 30;

async function clusters(kind) {
  const answer = await fetch(`${url(kind)}/jupyter-elastic/clusters`);
  return answer.ok ? (await answer.json()).clusters : [];
}

/** Release what a failed test left; a cluster that does not go is an error of its own. */
async function release(kind) {
  const end = Date.now() + RELEASE_SECONDS * 1000;
  for (;;) {
    const left = await clusters(kind);
    if (left.length === 0) {
      return;
    }
    if (Date.now() > end) {
      throw new Error(
        `${kind}: ${left.map(one => one.id)} could not be released`
      );
    }
    for (const { id } of left) {
      const there = `${url(kind)}/jupyter-elastic/clusters/${id}`;
      await fetch(`${there}?stop_runs=true`, { method: 'DELETE' });
    }
    await new Promise(resolve => setTimeout(resolve, 500));
  }
}

module.exports = async config => {
  const results = path.join(config.rootDir, '..', 'test-results');
  fs.mkdirSync(results, { recursive: true });
  try {
    await Promise.all(KINDS.map(release));
  } finally {
    for (const kind of KINDS) {
      const log = path.join(home(kind), 'server.log');
      fs.copyFileSync(log, path.join(results, `server-${kind}.log`));
    }
  }
};
