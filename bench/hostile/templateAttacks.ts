// Attacks by templates: some hundred bytes of Liquid that take minutes or gigabytes, over the API and in workflows.
import { setTimeout as pause } from 'node:timers/promises'
import { type Attack, inLoops } from './attack.ts'
import { createAgent, send } from './client.ts'

const LOOPS = 8
const EVENTS_EVERY_MS = 200

/** Each takes minutes or gigabytes where nothing bounds it. */
export const hostileTemplates = [
  `{% assign a = (1..30000) %}{{ a | find_exp: "x", "a | has_exp: 'y', 'y > 30000'" }}`,
  `{% assign a = (1..3000) %}{{ a | where_exp: "x", "a | where_exp: 'y', 'y > x' | size > 5000" | size }}`,
  `{% assign a = (1..90000) %}{{ a | group_by_exp: "x", "a | has_exp: 'y', 'y < 0'" | size }}`,
  '{% for i in (1..49999999) %}{% endfor %}',
  '{% assign n = 49999999 %}{% for i in (1..n) %}{{ i }}{% endfor %}',
  '{% assign s = "ab " %}{% for i in (1..40) %}{% assign s = s | append: s %}{% endfor %}{{ s | split: " " | sort_natural | size }}',
  '{% assign s = "a" %}{% for i in (1..60000) %}{% assign s = s | append: "b,c" | split: "," | join: ",a" %}{% endfor %}{{ s }}',
  '{% assign a = "ab" | split: "" %}{% for i in (1..40) %}{% assign a = a | push: a %}{% endfor %}{{ a | join: "" | size }}',
  `{% if true %}${'{% elsif false %}'.repeat(19_990)}{% endif %}`,
  `{% if ${'a or '.repeat(190_000)}b %}{% endif %}`,
  `${'{% if true %}'.repeat(9_000)}x${'{% endif %}'.repeat(9_000)}`,
  '{{ "now" | date: "%999999999Y" }}',
  `{{ "x" | append: "y"${' | append: "0123456789" | replace: "0", "00000000"'.repeat(9)} }}`,
]

const templateOf = (serial: number) => hostileTemplates[serial % hostileTemplates.length] ?? ''

/** Sends mail with them. */
export const sendHostile: Attack = async ({ port, key, from }, count, stop) => {
  const agent = createAgent(LOOPS)
  await inLoops(LOOPS, stop, async (serial) => {
    const mail = {
      from,
      to: 'x@example.test',
      subject: 'x',
      html: templateOf(serial),
      variables: {},
    }
    const { status } = await send(agent, {
      port,
      path: '/v1/emails',
      key,
      body: JSON.stringify(mail),
    })
    count(status)
  })
  agent.destroy()
}

/** Starts executions that send them, and cancels some of the executions. */
export const runHostile: Attack = async ({ port, key, hostileEvent }, count, stop) => {
  const agent = createAgent(LOOPS)
  await inLoops(1, stop, async (serial) => {
    const event = { event_name: hostileEvent, email: `hostile-${serial % 200}@example.test` }
    const path = '/v1/automation/events'
    const { status, body } = await send(agent, { port, path, key, body: JSON.stringify(event) })
    count(status)
    const started = /exe_\w+/.exec(body)?.[0]
    if (started && serial % 5 === 0) {
      const cancel = `/v1/executions/${started}/cancel`
      count(`cancel ${(await send(agent, { port, path: cancel, key, body: '{}' })).status}`)
    }
    await pause(EVENTS_EVERY_MS)
  })
  agent.destroy()
}
