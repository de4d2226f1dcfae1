/** The main job with pods: create in the form, see, launch, train, scale, train again, release. */
import { expect, test } from '../elastic';
import { terminalText } from '../terminals';

test('two pods train, then four, then all is given back', async ({
  elastic,
  page,
  server
}) => {
  test.setTimeout(480_000);
  await elastic.open();
  await elastic.openForm();
  await elastic.form.getByLabel('Name', { exact: true }).fill('tthvd');
  await elastic.form.getByLabel('Containers').fill('2');
  await elastic.form.getByLabel('Script').fill('tensorflow2_mnist.py');
  await elastic.form
    .getByRole('button', { name: 'Create', exact: true })
    .click();
  await expect(elastic.form).toHaveCount(0);
  await elastic.expectRunning(2);
  await expect(elastic.rows.nth(1)).toContainText('worker');

  const exact =
    'horovodrun -np 2 --hostfile /etc/mpi/hostfile python tensorflow2_mnist.py';
  await expect(elastic.command).toHaveText(exact);
  expect(await elastic.launch()).toBe(exact);
  await page.waitForTimeout(1500);
  expect((await server.cluster()).runs).toEqual([]);
  await page.keyboard.press('Enter');
  await expect
    .poll(() => terminalText(page), { timeout: 180_000 })
    .toMatch(/accuracy 0\.\d+/);
  const first = await terminalText(page);
  expect(first).toContain('5000 samples on rank 0 of 2');
  expect(first).toContain('5000 samples on rank 1 of 2');
  await expect(elastic.section('Run')).toContainText('ended', {
    timeout: 20_000
  });
  expect((await server.cluster()).runs.map(run => run.exit)).toEqual([0]);

  await elastic.scale(4);
  await elastic.expectRunning(4);
  await expect(elastic.command).toHaveText(exact.replace('-np 2', '-np 4'));
  await elastic.launch();
  await page.keyboard.press('Enter');
  await expect
    .poll(() => terminalText(page), { timeout: 240_000 })
    .toContain('2500 samples on rank 3 of 4');
  await expect
    .poll(async () => (await server.cluster()).runs.map(run => run.exit), {
      timeout: 120_000
    })
    .toEqual([0, 0]);

  const names = (await server.cluster()).containers.map(one => one.name);
  const question = await elastic.release();
  for (const name of names) {
    expect(question).toContain(name);
  }
  await expect(elastic.emptyText).toBeVisible();
});
