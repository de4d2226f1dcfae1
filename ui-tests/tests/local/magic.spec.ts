/** A notebook scales while another notebook's kernel is busy, and the panel follows. */
import { expect, test } from '../elastic';

const FOLLOWS_WITHIN = 2000;

test('%elastic_scale 4 beside a busy kernel', async ({
  elastic,
  page,
  server
}) => {
  test.setTimeout(180_000);
  await elastic.open();
  await elastic.create({ name: 'tthvd' });

  await page.notebook.createNew('busy.ipynb', { kernel: 'python3' });
  await page.notebook.setCell(
    0,
    'code',
    'import time\nprint("busy")\ntime.sleep(120)'
  );
  await page.notebook.selectCells(0);
  await page.keyboard.press('Control+Enter');
  const busy = page.locator('.jp-Notebook:visible .jp-OutputArea-output');
  await expect(busy).toContainText('busy', { timeout: 60_000 });

  await page.notebook.createNew('second.ipynb', { kernel: 'python3' });
  await page.notebook.setCell(0, 'code', '%load_ext jupyter_elastic');
  await page.notebook.addCell('code', '%elastic_scale 4');
  await page.notebook.runCell(0);
  await page.notebook.selectCells(1);
  await page.keyboard.press('Control+Enter');
  const asked = Date.now();
  const follow = elastic.panel.getByText('target 4');
  await expect(follow).toBeVisible({ timeout: 30_000 });
  const shown = Date.now() - asked;
  expect(shown).toBeLessThan(FOLLOWS_WITHIN);
  await elastic.expectRunning(4);
  await expect(page.locator('.jp-Notebook:visible')).toContainText('4');
  expect((await server.cluster()).target).toBe(4);

  // The first kernel has been busy all the time.
  await page.activity.activateTab('busy.ipynb');
  await expect(
    page.locator('.jp-Notebook:visible .jp-InputArea-prompt').first()
  ).toHaveText('[*]:');
});
