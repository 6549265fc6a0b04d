// A process that renders templates as fast as it can: cheap ones in place, and others in the threads of the renderer.
import { createRenderer, renderInPlace } from '../mail/content/renderer.ts'
import type { TemplateParts, TemplateScope } from '../mail/content/template.ts'
import { runLoad } from './load.ts'
import { serve } from './remote.ts'

const HTML_CHARS = 2_048
const WORKSPACES = 8
const LOOPS_EACH = 8
const WARM_UP_SECONDS = 3

const scope: TemplateScope = {
  contact: { email: 'ada@example.test', first_name: 'Ada', properties: { plan: 'pro' } },
  properties: { plan: 'pro' },
  event: {
    id: 'order-1',
    paid: true,
    items: Array.from({ length: 10 }, (_, i) => ({ name: `Item ${i}`, price: i })),
  },
  unsubscribe_url: 'https://mail.example.test/u/abc',
}

const mail = (subject: string, html: string): TemplateParts => ({
  subject,
  html: html.padEnd(HTML_CHARS, '.'),
  text: null,
})

const cheap = mail(
  'Hello {{ contact.first_name }}',
  '<p>Hello {{ contact.first_name | default: "you" }}, your plan is {{ properties.plan | capitalize }}.</p>' +
    '{% if event.paid %}<p>Thank you.</p>{% else %}<p>Please pay.</p>{% endif %}<a href="{{ unsubscribe_url }}">Leave</a>',
)
const guarded = mail(
  'Your order {{ event.id }}',
  '<table>{% for item in event.items %}<tr><td>{{ item.name }}</td><td>{{ item.price }}</td></tr>{% endfor %}</table>',
)

/** No two renders have the same values. */
const scopeOf = (serial: number): TemplateScope => ({ ...scope, vars: { serial } })

const handlers = {
  /** Renders for so long, each kind by itself. @returns renders per second */
  async run({ seconds }: { seconds: number }): Promise<{ cheap: number; guarded: number }> {
    const inPlace = { loops: 1, seconds }
    const oneCheap = async (serial: number) => {
      if (!renderInPlace(cheap, scopeOf(serial))?.ok) throw new Error('this one is cheap')
    }
    await runLoad({ ...inPlace, seconds: WARM_UP_SECONDS }, oneCheap)
    const { per_second: cheapPerSecond } = await runLoad(inPlace, oneCheap)

    const renderer = createRenderer({ warn: (facts, text) => console.error(text, facts) })
    const oneGuarded = async (serial: number, loop: number) => {
      const workspaceId = `ws_${loop % WORKSPACES}`
      const rendered = await renderer.render(workspaceId, guarded, scopeOf(serial))
      if (!rendered.ok) throw new Error(`a render failed: ${JSON.stringify(rendered)}`)
    }
    const pooled = { loops: WORKSPACES * LOOPS_EACH, seconds }
    await runLoad({ ...pooled, seconds: WARM_UP_SECONDS }, oneGuarded)
    const { per_second: guardedPerSecond } = await runLoad(pooled, oneGuarded)
    await renderer.close()
    return { cheap: cheapPerSecond, guarded: guardedPerSecond }
  },
}

export type TemplateRates = typeof handlers

serve(handlers)
