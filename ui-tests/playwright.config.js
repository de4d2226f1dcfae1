/** Tests in a real JupyterLab with the system's Chromium; see servers.js for what they talk to. */
const base = require('@jupyterlab/galata/lib/playwright-config');
const fs = require('fs');
const { KINDS, folder, prepare, url, webServer } = require('./servers');

// Only the runner prepares and clears up; its workers find everything in place.
if (process.env.TEST_WORKER_INDEX === undefined) {
  KINDS.forEach(prepare);
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
}

const args = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-lcd-text',
  '--disable-sync',
  '--no-first-run'
];
if (process.getuid && process.getuid() === 0) {
  args.push('--no-sandbox');
}

module.exports = {
  ...base,
  testDir: 'tests',
  workers: 1,
  retries: process.env.CI ? 1 : 0,
  forbidOnly: Boolean(process.env.CI),
  timeout: 90_000,
  expect: { timeout: 10_000 },
  globalTeardown: require.resolve('./teardown.js'),
  use: {
    ...base.use,
    actionTimeout: 15_000,
    viewport: { width: 1280, height: 900 },
    video: 'off',
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM_PATH || '/usr/bin/chromium',
      args
    }
  },
  projects: KINDS.map(kind => ({
    name: kind,
    testDir: `tests/${kind}`,
    use: { baseURL: url(kind) }
  })),
  webServer: KINDS.map(webServer)
};
