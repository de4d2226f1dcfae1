/** The test function of all specs: a fresh page, a page object for the panel, nothing left behind. */
import { galata, test as base } from '@jupyterlab/galata';
import { ElasticPage } from './elasticpage';
import { ElasticServer } from './server';

export { expect } from '@jupyterlab/galata';

interface IFixtures {
  /** The panel in the browser. */
  elastic: ElasticPage;

  /** The server behind it. */
  server: ElasticServer;
}

export const test = base.extend<IFixtures>({
  // Our terminals are made by the server, so a list of those that the page made would hide them.
  terminals: null,
  mockSettings: {
    ...galata.DEFAULT_SETTINGS,
    // A cell that runs for a while, and a tab that closes with one, ask nothing.
    '@jupyterlab/docmanager-extension:plugin': { autosave: false }
  },
  server: async ({ request }, use) => {
    const server = new ElasticServer(request);
    await server.releaseAll();
    await use(server);
    await server.closeTerminals();
    await server.releaseAll();
  },
  // It asks for the server first: what is left of an earlier test is gone before the page is there.
  elastic: async ({ server, page }, use) => {
    await use(new ElasticPage(page, server));
  }
});
