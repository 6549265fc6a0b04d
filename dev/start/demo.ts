// The demonstration workflow: three emails with short waits, so that people can watch it run.
const NAME = 'Welcome demo'
const FROM = 'Dripline Demo <hello@demo.test>'
/** Wait between two emails. */
export const DEMO_WAIT_S = 15

export const DEMO_EVENT = 'user.signed_up'

interface WorkflowPage {
  workflows: { name: string }[]
  cursor: string | null
}

const mails = [
  {
    subject: 'Welcome to Dripline',
    text: 'This is the first of three mails. The next one comes soon.',
  },
  { subject: 'Your second mail', text: 'A durable timer brought this one.' },
  { subject: 'That was the whole tour', text: 'This was the last mail of the demonstration.' },
]

function html(text: string): string {
  return [
    '<p>Hello {{ contact.properties.first_name | default: "there" }},</p>',
    `<p>${text}</p>`,
    '<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>',
  ].join('\n')
}

/** The design: trigger → email → wait → email → wait → email → exit. */
export function demoDesign() {
  const steps = mails.flatMap(({ subject, text }, i) => {
    const data = { from: FROM, subject, html: html(text), category: 'marketing' }
    const mail = { id: `mail-${i + 1}`, type: 'send_email', data }
    const wait = { id: `wait-${i}`, type: 'delay', data: { duration: `PT${DEMO_WAIT_S}S` } }
    return i === 0 ? [mail] : [wait, mail]
  })
  const nodes = [
    { id: 'signed-up', type: 'trigger', data: { kind: 'event', event_name: DEMO_EVENT } },
    ...steps,
    { id: 'done', type: 'exit', data: {} },
  ].map((node, i) => ({ ...node, position: { x: 0, y: i * 120 } }))
  const edges = nodes.slice(1).map((node, i) => {
    const source = nodes[i]?.id ?? ''
    return { id: `${source}-${node.id}`, source, target: node.id }
  })
  return { nodes, edges }
}

/** Makes the active workflow through the API, unless the workspace has one with its name. */
export async function ensureDemo(apiUrl: string, apiKey: string): Promise<void> {
  const call = async (path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${apiUrl}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (response.ok) return response.json()
    throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  }
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = (await call(
      `/v1/workflows${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ''}`,
    )) as WorkflowPage
    if (page.workflows.some(({ name }) => name === NAME)) return
    cursor = page.cursor
  }
  await call('/v1/workflows', { name: NAME, status: 'active', design: demoDesign() })
}
