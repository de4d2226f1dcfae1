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
  // The real lists: our terminals are made by the server, not by the page.
  kernels: null,
  sessions: null,
  terminals: null,
  mockSettings: {
    ...galata.DEFAULT_SETTINGS,
    // A notebook that was not saved would ask before the page is left.
    '@jupyterlab/docmanager-extension:plugin': { autosave: false }
  },
  server: async ({ request }, use) => {
    const server = new ElasticServer(request);
    await server.releaseAll();
    await use(server);
    await server.closeTerminals();
    await server.closeSessions();
    await server.releaseAll();
  },
  // It asks for the server first: what is left of an earlier test is gone before the page is there.
  elastic: async ({ server, page }, use) => {
    await use(new ElasticPage(page, server));
  }
});
