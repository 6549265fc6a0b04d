// What an operator learns of renders: their outcomes, and whose they were when the child process ended.
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createRenderer } from '../../../mail/content/renderer.ts'
import { createRenderMetrics } from '../../../runtime/renderMetrics.ts'
import { eventually } from '../../setup/eventually.ts'

const inHtml = (html: string) => ({ subject: 's', html, text: null })
const FOR_EVER =
  '{% for i in (1..99999) %}{% for j in (1..99999) %}{% if i == j %}{% endif %}{% endfor %}{% endfor %}'

test('a child that ends tells whose renders were under way', async () => {
  const lines: object[] = []
  const registry = new Registry()
  const own = createRenderer(
    { warn: (facts) => void lines.push(facts) },
    { watch: createRenderMetrics(registry) },
  )
  await own.render('ws_cheap', inHtml('{{ 1 }}'), {})
  await own.render('ws_loop', inHtml('{% for i in (1..3) %}{{ i }}{% endfor %}'), {})
  const open = own.render('ws_hostile', inHtml(FOR_EVER), {})
  process.kill(own.pid() ?? 0, 'SIGKILL')
  await eventually(() => expect(lines).toHaveLength(1))
  await own.close()
  expect(await open).toEqual({ ok: false, kind: 'busy' })
  const facts = { under_way: 1, workspace_ids: ['ws_hostile'] }
  expect(lines[0]).toMatchObject(facts)
  expect(lines[0]).not.toHaveProperty('ended_alone_by')
  const metrics = await registry.metrics()
  expect(metrics).toContain('dripline_renders_total{outcome="in_place"} 1\n')
  expect(metrics).toContain('dripline_renders_total{outcome="done"} 1\n')
  expect(metrics).toContain('dripline_renders_total{outcome="busy"} 1\n')
  expect(metrics).toContain('dripline_render_child_ends_total 1\n')
}, 60_000)
