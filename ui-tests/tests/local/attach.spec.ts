/** A run outlives its tab and its page; the panel brings its terminal back. */
import type { Page } from '@playwright/test';
import { expect, test } from '../elastic';
import { processes } from '../server';
import { terminals, terminalText } from '../terminals';

/** The last epoch that a text tells of. */
function epoch(text: string): number {
  return Number([...text.matchAll(/epoch (\d+)\//g)].at(-1)?.[1] ?? 0);
}

/** Close the terminal as a person does; its session is not ended by that. */
async function closeTab(page: Page): Promise<void> {
  await page
    .getByRole('tab', { name: 'outlive: horovodrun' })
    .getByTitle('Close', { exact: false })
    .click();
  await expect.poll(() => terminals(page)).toEqual([]);
}

test('a run goes on without its terminal', async ({
  elastic,
  page,
  server
}) => {
  test.setTimeout(240_000);
  await elastic.open();
  await elastic.create({ name: 'outlive', script: 'tensorflow2_mnist.py' });
  await elastic.section('Launch').getByLabel('Arguments').fill('--epochs 500');
  await page.keyboard.press('Enter');
  await expect(elastic.command).toContainText('--epochs 500');
  await elastic.launch();
  await page.keyboard.press('Enter');
  await expect
    .poll(async () => epoch(await terminalText(page)), { timeout: 90_000 })
    .toBeGreaterThan(0);
  const [run] = (await server.cluster()).runs;
  const pids = [...processes('--epochs 500').keys()];

  await closeTab(page);
  await server.closeTerminals();
  await page.waitForTimeout(2000);
  expect((await server.cluster()).runs).toEqual([run]);

  const back = elastic.section('Run').getByRole('button', { name: 'Terminal' });
  await back.click();
  await expect
    .poll(() => terminalText(page), { timeout: 20_000 })
    .toContain('5000 samples on rank 0 of 2');
  const seen = epoch(await terminalText(page));
  await expect
    .poll(async () => epoch(await terminalText(page)), { timeout: 60_000 })
    .toBeGreaterThan(seen);

  // The same after a reload, which forgets everything the page knew.
  await closeTab(page);
  // The workspace is saved a moment after its last change.
  await page.waitForTimeout(1500);
  // The launcher was never closed, but it need not be in front: nothing to wait for but the panel.
  await page.reload({ waitForIsReady: false });
  await expect(elastic.panel).toBeVisible();
  await back.click();
  await expect
    .poll(async () => epoch(await terminalText(page)), { timeout: 60_000 })
    .toBeGreaterThan(seen + 1);
  const now = processes('--epochs 500');
  expect(pids.filter(pid => !now.has(pid))).toEqual([]);

  await elastic.button('Release').click();
  await expect(elastic.dialog).toContainText('1 live run is stopped first:');
  await expect(elastic.dialog).toContainText('tensorflow2_mnist.py');
  await elastic.dialog
    .getByRole('button', { name: 'Stop 1 run and release' })
    .click();
  await expect(elastic.emptyText).toBeVisible({ timeout: 45_000 });
  await expect.poll(() => processes('--epochs 500').size).toBe(0);
  expect(await terminalText(page)).toMatch(/released/i);
});
