/** No state of the panel has a serious finding of axe, in light or dark. */
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, test } from '../elastic';
import { OURS } from '../server';

const SCRIPT = 'tensorflow2_mnist.py';
const PANEL = '#jupyter-elastic-panel';

/** What axe calls serious or critical within one part of the page. */
async function findings(page: Page, part = PANEL): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).include(part).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.map(node => node.html).join(' ')}`
    );
}

for (const theme of ['JupyterLab Light', 'JupyterLab Dark']) {
  test.describe(theme, () => {
    test.beforeEach(async ({ page }) => {
      await page.theme.setTheme(theme);
    });

    test('nothing yet, and the form', async ({ elastic, page }) => {
      await elastic.open();
      await expect(elastic.emptyText).toBeVisible();
      expect.soft(await findings(page)).toEqual([]);
      await elastic.openForm();
      await elastic.form.getByText('More').click();
      for (const name of ['Environment', 'Tolerated taints']) {
        await elastic.form
          .getByLabel(`Add to ${name}`, { exact: true })
          .click();
      }
      await elastic.form.getByLabel('Environment 1: value').fill('hidden');
      await elastic.form.getByLabel('datasets', { exact: true }).check();
      await elastic.form.getByLabel('Mount path of datasets').fill('/data');
      await elastic.form.getByLabel('Name', { exact: true }).fill('');
      await elastic.form.getByLabel('Containers').fill('1');
      await elastic.form
        .getByRole('button', { name: 'Create', exact: true })
        .click();
      await expect(elastic.banner.first()).toBeVisible();
      expect.soft(await findings(page)).toEqual([]);
    });

    test('at work, with a draft, a run and a question', async ({
      elastic,
      page,
      server
    }) => {
      const { id } = await server.create({
        gpus_per_container: 1,
        name: 'work',
        script: SCRIPT,
        size: 8
      });
      await elastic.open();
      await expect(elastic.rows).toHaveCount(8);
      await server.start(id);
      await expect(elastic.section('Run')).toContainText('running');
      await elastic.section('Launch').getByText('More').click();
      await elastic.drag(4);
      await expect(elastic.panel).not.toContainText('Working out the plan');
      expect.soft(await findings(page)).toEqual([]);
      await expect(elastic.section('Run')).toContainText('ended');
      expect.soft(await findings(page)).toEqual([]);
      await elastic.button('Release').click();
      await expect(elastic.dialog).toBeVisible();
      expect.soft(await findings(page, '.jp-Dialog')).toEqual([]);
      await elastic.dialog.getByRole('button', { name: 'Cancel' }).click();
    });

    test('in trouble', async ({ elastic, page, server }) => {
      await server.create({ name: 'trouble' });
      await elastic.open();
      await elastic.expectRunning(2);
      await page.route(OURS, route => route.abort());
      await elastic.button('Read again').click();
      await expect(elastic.banner).toBeVisible();
      expect.soft(await findings(page)).toEqual([]);
    });
  });
}
