/** When something is missing or out of reach the panel says what, why and what to do; no dialog comes up. */
import type { Page } from '@playwright/test';
import { expect, test } from '../elastic';
import { OURS } from '../server';

const SCRIPT = 'tensorflow2_mnist.py';

/** Let every call to the server half be answered like this. */
async function answer(
  page: Page,
  status: number,
  body: string,
  contentType = 'application/json'
): Promise<void> {
  await page.route(OURS, route => route.fulfill({ status, body, contentType }));
}

test.describe('from the start', () => {
  test.use({ autoGoto: false });

  test.afterEach(async ({ page }) => {
    await expect(page.getByRole('dialog')).toHaveCount(0);
  });

  test('the server half is missing', async ({ elastic, page }) => {
    await answer(page, 404, '<html>404: Not Found</html>', 'text/html');
    await page.goto();
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await elastic.open();
    await expect(elastic.banner).toContainText(
      'The server half of jupyter_elastic is not installed or not enabled.'
    );
    await expect(elastic.banner).toContainText('jupyter server extension list');
    // A card or a status item that leads nowhere is not shown.
    await expect(
      page.getByText('Training Cluster', { exact: true })
    ).toHaveCount(0);
    await page.unroute(OURS);
    await elastic.button('Try now').click();
    await expect(elastic.banner).toHaveCount(0);
    await expect(elastic.emptyText).toBeVisible();
  });

  test('the person may not read', async ({ elastic, page }) => {
    const body = {
      code: 'forbidden',
      message: 'elastic: read',
      hint: '',
      detail: {}
    };
    await answer(page, 403, JSON.stringify(body));
    await page.goto();
    await elastic.open();
    await expect(elastic.banner).toContainText(
      'You may not see training clusters on this server: elastic: read'
    );
    await expect(elastic.banner).toContainText('Ask its administrator');
  });

  test('the server does not answer', async ({ elastic, page }) => {
    await page.route(OURS, route => route.abort());
    await page.goto();
    await elastic.open();
    await expect(elastic.banner).toContainText(
      'The Jupyter server does not answer.'
    );
    await expect(elastic.button('Try now')).toBeEnabled();
  });
});

test('what was known stays while nothing answers', async ({
  elastic,
  page,
  server
}) => {
  await server.create({ name: 'known' });
  await elastic.open();
  await elastic.expectRunning(2);
  await page.route(OURS, route => route.abort());
  await elastic.button('Read again').click();
  await expect(elastic.banner).toContainText(
    'The Jupyter server does not answer.'
  );
  await expect(elastic.banner).toContainText(/last known state, as of .*\d/);
  await expect(elastic.rows).toHaveCount(2);
  await page.unroute(OURS);
  await elastic.button('Try now').click();
  await expect(elastic.banner).toHaveCount(0);
  await expect(page.getByRole('dialog')).toHaveCount(0);
});

test('a cluster out of reach is shown as it was, and since when', async ({
  elastic,
  page,
  server
}) => {
  await server.create({ name: 'stale' });
  await elastic.open();
  await elastic.expectRunning(2);
  await expect(elastic.banner).toContainText(
    /Scripted cluster does not answer since .*\d/
  );
  await expect(elastic.banner).toContainText('Training is not touched.');
  await expect(elastic.rows).toHaveCount(2);
  await expect(page.getByRole('button', { name: /last known/ })).toBeVisible();
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(elastic.banner).toHaveCount(0);
});

test('a missing right of the server is named', async ({
  elastic,
  page,
  server
}) => {
  const text = 'Missing: create replicasets.apps in namespace team-a.';
  await server.create({ name: 'rights' });
  await page.route('**/jupyter-elastic/clusters?*', async route => {
    const response = await route.fetch();
    const state = await response.json().catch(() => null);
    for (const engine of state?.engines ?? []) {
      engine.health = { state: 'forbidden', since: 0, text };
    }
    await route.fulfill({ response, ...(state ? { json: state } : {}) });
  });
  await elastic.open();
  await elastic.button('Read again').click();
  await expect(elastic.banner).toContainText(
    'refuses what this server asks for'
  );
  await expect(elastic.banner).toContainText(text);
});

test('without terminals the command can be copied, and the button says why', async ({
  context,
  elastic,
  page,
  server
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await server.create({ name: 'typed', script: SCRIPT });
  await elastic.open();
  await expect(elastic.command).toContainText('horovodrun -np 2');
  await expect(elastic.button('launch horovodrun')).toBeDisabled();
  await expect(elastic.section('Launch')).toContainText(
    'Terminals are switched off on this server: copy the command.'
  );
  const text = await elastic.command.innerText();
  await elastic.button('Copy the command').click();
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toBe(text);
});
