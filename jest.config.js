const jestJupyterLab = require('@jupyterlab/testutils/lib/jest-config');

// Packages that ship ES modules only: jest has to translate these, and no others.
const esModules = [
  '@codemirror',
  '@exodus/bytes',
  '@jupyter',
  '@jupyterlab/',
  '@marijn',
  '@microsoft',
  '@rjsf',
  'color',
  'exenv-es6',
  'lib0',
  'nanoid',
  'style-mod',
  'vscode-ws-jsonrpc',
  'y-protocols',
  'y-websocket',
  'yjs'
].join('|');

const base = jestJupyterLab(__dirname);

module.exports = {
  ...base,
  automock: false,
  collectCoverageFrom: [
    'src/**/*.{ts,tsx}',
    '!src/**/*.d.ts',
    '!src/**/__tests__/**'
  ],
  coverageReporters: ['lcov', 'text-summary'],
  modulePathIgnorePatterns: [
    '<rootDir>/jupyter_elastic/labextension',
    '<rootDir>/lib',
    '<rootDir>/ui-tests',
    '<rootDir>/\\.venv'
  ],
  reporters: ['default'],
  // jest-setup.js supplies what a browser has and jsdom has not.
  setupFiles: [...(base.setupFiles ?? []), '<rootDir>/jest-setup.js'],
  testRegex:
    'src/.*/__tests__/.*\\.spec\\.tsx?$|src/__tests__/.*\\.spec\\.tsx?$',
  transformIgnorePatterns: [`/node_modules/(?!.*(${esModules}))`]
};
