/** The whole story with the keyboard alone. */
import type { Locator, Page } from '@playwright/test';
import { expect, test } from '../elastic';
import { PANEL_KEYS } from '../elasticpage';
import { terminalText } from '../terminals';

/** More stops than the panel has. */
const MOST_STOPS = 40;

/** Press Tab until a control has the focus, as a person without a mouse does. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let stop = 0; stop < MOST_STOPS; stop++) {
    const there = await target
      .evaluate(node => node === document.activeElement, undefined, {
        timeout: 5000
      })
      .catch(() => false);
    if (there) {
      return;
    }
    await page.keyboard.press('Tab');
  }
  await expect(target).toBeFocused();
}

test('create, scale, launch, train and release', async ({
  elastic,
  page,
  server
}) => {
  test.setTimeout(240_000);
  const focused = elastic.panel.locator(':focus');
  await page.keyboard.press(PANEL_KEYS);
  await expect(elastic.panel).toBeVisible();
  await expect(focused).toHaveCount(1);

  await tabTo(page, elastic.button('Create a cluster'));
  await page.keyboard.press('Enter');
  const name = elastic.form.getByLabel('Name', { exact: true });
  await expect(name).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(elastic.form).toHaveCount(0);
  await tabTo(page, elastic.button('Create a cluster'));
  await page.keyboard.press('Enter');
  await expect(name).toBeFocused();
  await page.keyboard.type('keys');
  await tabTo(page, elastic.form.getByLabel('Script'));
  await page.keyboard.type('tensorflow2_mnist.py');
  await page.keyboard.press('Enter');
  await expect(elastic.form).toHaveCount(0);
  await elastic.expectRunning(2);
  // The form is gone; the focus stays in the panel.
  await expect(focused).toHaveCount(1);

  await tabTo(page, elastic.slider);
  await page.keyboard.press('ArrowRight');
  await expect(elastic.slider).toHaveValue('3');
  await expect(elastic.slider).toHaveAttribute(
    'aria-valuetext',
    /^3 of \d+ containers/
  );
  await page.keyboard.press('Escape');
  await expect(elastic.slider).toHaveValue('2');
  await page.keyboard.press('ArrowRight');
  await tabTo(page, elastic.button('Apply'));
  await page.keyboard.press('Enter');
  await elastic.expectRunning(3);
  await expect(
    page.getByRole('status').filter({ hasText: 'keys' })
  ).toContainText('3 of 3 containers ready');

  await tabTo(page, elastic.section('Launch').getByLabel('Arguments'));
  await page.keyboard.type('--epochs 1');
  await page.keyboard.press('Enter');
  await expect(elastic.command).toContainText('-np 3');
  await expect(elastic.command).toContainText('--epochs 1');
  const command = await elastic.command.innerText();
  await tabTo(page, elastic.button('launch horovodrun'));
  await page.keyboard.press('Enter');
  await expect
    .poll(() => terminalText(page), { timeout: 20_000 })
    .toContain(command);
  expect((await server.cluster()).runs).toEqual([]);
  await page.keyboard.press('Enter');
  await expect
    .poll(() => terminalText(page), { timeout: 120_000 })
    .toMatch(/accuracy 0\.\d+/);
  expect(await terminalText(page)).toContain('on rank 2 of 3');

  await page.keyboard.press(PANEL_KEYS);
  await expect(focused).toHaveCount(1);
  await tabTo(page, elastic.button('Release'));
  await page.keyboard.press('Enter');
  await expect(elastic.dialog).toContainText('3 containers of keys go:');
  // A stray Enter must not release anything.
  await expect(
    elastic.dialog.getByRole('button', { name: 'Cancel' })
  ).toBeFocused();
  await tabTo(page, elastic.dialog.getByRole('button', { name: 'Release' }));
  await page.keyboard.press('Enter');
  await expect(elastic.emptyText).toBeVisible({ timeout: 30_000 });
  await expect(focused).toHaveCount(1);
});

test('the palette knows the panel and its commands', async ({
  elastic,
  page,
  server
}) => {
  await server.create({ name: 'palette' });
  await page.keyboard.press('ControlOrMeta+Shift+C');
  const palette = page.getByRole('searchbox', { name: /Command Palette/i });
  await palette
    .or(page.locator('#command-palette input'))
    .first()
    .fill('Show Elastic');
  await page.keyboard.press('Enter');
  await expect(elastic.panel).toBeVisible();
  await elastic.expectRunning(2);
  await page.keyboard.press('ControlOrMeta+Shift+C');
  await palette
    .or(page.locator('#command-palette input'))
    .first()
    .fill('Add a Container');
  await page.keyboard.press('Enter');
  await expect(elastic.dialog).toContainText('Scale palette to 3 containers?');
  await elastic.dialog.getByRole('button', { name: 'Add 1 container' }).click();
  await elastic.expectRunning(3);
});
