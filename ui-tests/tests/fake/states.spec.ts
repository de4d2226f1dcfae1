/** What the panel says about containers that wait, and about a run that ended. */
import { expect, test } from '../elastic';

const SCRIPT = 'tensorflow2_mnist.py';

test('each container that waits says why', async ({ elastic }) => {
  await elastic.open();
  await elastic.openForm();
  await elastic.form.getByLabel('Name', { exact: true }).fill('waiting');
  await elastic.form.getByLabel('Containers').fill('8');
  await expect(elastic.form).toContainText('1 launcher + 7 workers');
  await expect(elastic.form).toContainText('6 of 10 free');
  await elastic.form
    .getByRole('button', { name: 'Create', exact: true })
    .click();
  await expect(elastic.form).toHaveCount(0);

  await expect(elastic.rows).toHaveCount(8);
  await expect(elastic.rows.filter({ hasText: 'Running' })).toHaveCount(6);
  await expect(elastic.rows.filter({ hasText: 'Pending' })).toHaveCount(1);
  await expect(elastic.rows.filter({ hasText: 'Not created' })).toHaveCount(1);
  const table = elastic.panel.getByRole('table');
  await expect(table).toContainText('no node has 1 free P4');
  await expect(table).toContainText('taint gpu=a');
  await expect(table).toContainText('Quota team-a allows 7 containers');
  await expect(table).toContainText('the owner of the namespace can raise it');
  await expect(elastic.panel).toContainText('ready 6');
  await expect(elastic.panel).toContainText('target 8');
});

test('a number that cannot be is refused with its limit', async ({
  elastic,
  server
}) => {
  await server.create({ name: 'limits' });
  await elastic.open();
  for (const wrong of ['0', '11', '']) {
    await elastic.number.fill(wrong);
    await expect(elastic.banner).toContainText('A whole number from 1 to 10');
    await expect(elastic.button('Apply')).toBeDisabled();
  }
  await elastic.number.press('Escape');
  await expect(elastic.number).toHaveValue('2');
  await elastic.openForm();
  await elastic.form.getByLabel('Name', { exact: true }).fill('limits');
  await elastic.form.getByLabel('Containers').fill('99');
  await expect(elastic.banner).toContainText('At most 10:');
  await elastic.form.getByLabel('Containers').fill('2');
  await elastic.form
    .getByRole('button', { name: 'Create', exact: true })
    .click();
  await expect(elastic.banner).toContainText('limits');
  await expect(
    elastic.form.getByLabel('Name', { exact: true })
  ).toHaveAttribute('aria-invalid', 'true');
  expect(await server.clusters()).toHaveLength(1);
});

test('the end of a run is told, with an offer to give the cluster back', async ({
  elastic,
  server
}) => {
  const cluster = await server.create({ name: 'ending', script: SCRIPT });
  await elastic.open();
  await elastic.expectRunning(2);
  await server.start(cluster.id);
  const runs = elastic.section('Run');
  await expect(runs).toContainText('tensorflow2_mnist.py');
  await expect(runs).toContainText('running');
  await expect(runs).toContainText('ended');
  const offer = elastic.panel.getByRole('group', {
    name: /Give the cluster back/
  });
  await expect(offer).toBeVisible();
  await offer.getByRole('button', { name: 'Keep' }).click();
  await expect(offer).toHaveCount(0);
  expect(await server.clusters()).toHaveLength(1);

  await server.start(cluster.id);
  await expect(offer).toBeVisible();
  await offer.getByRole('button', { name: 'Release now' }).click();
  await expect(elastic.dialog).toContainText('2 containers of ending go:');
  await elastic.dialog.getByRole('button', { name: 'Release' }).click();
  await expect(elastic.emptyText).toBeVisible();
  await expect(elastic.dialog).toHaveCount(0);
});

test('the status bar counts, and opens the panel', async ({
  elastic,
  page,
  server
}) => {
  await server.create({ name: 'counted', gpus_per_container: 1 });
  const item = page.getByRole('button', { name: '2/2 containers · 2 GPUs' });
  await expect(item).toBeVisible();
  await expect(elastic.panel).toBeHidden();
  await item.click();
  await expect(elastic.panel).toBeVisible();
  await elastic.expectRunning(2);
});
