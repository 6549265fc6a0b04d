// The workflows of the automation figures, as designs. The hand-written references send the same emails.
import { SENDER } from './payloads.ts'

export const TRIGGER_EVENT = 'user.signed_up'
export const ANSWER_EVENT = 'user.activated'

interface Mail {
  id: string
  subject: string
  html: string
}

interface Node {
  id: string
  type: string
  data: object
}

/** One workflow of the figures. */
export interface Scenario {
  /** Also the name of its databases and namespaces. */
  name: 'mails' | 'delay' | 'wait'
  what: string
  /** What is between trigger and exit, in order. */
  nodes: Node[]
  /** The module of the hand-written workflow function, beside this file. */
  plain: string
  /** Whether its executions wait for `ANSWER_EVENT` before they end. */
  isAnswered: boolean
  atLeast: number
}

const mail = ({ id, subject, html }: Mail): Node => ({
  id,
  type: 'send_email',
  data: { from: SENDER, subject, html, category: 'marketing' },
})

const welcome = mail({
  id: 'welcome',
  subject: 'Welcome {{ contact.first_name }}',
  html: '<p>Hello {{ contact.first_name }}, you are on {{ event.plan }}.</p><a href="{{ unsubscribe_url }}">Leave</a>',
})
const tips = mail({
  id: 'tips',
  subject: 'Three tips',
  html: '<p>{{ contact.first_name }}, begin with these.</p><a href="{{ unsubscribe_url }}">Leave</a>',
})
const offer = mail({
  id: 'offer',
  subject: 'An offer for {{ event.plan }}',
  html: '<p>Only this week, {{ contact.email }}.</p><a href="{{ unsubscribe_url }}">Leave</a>',
})

export const scenarios: readonly Scenario[] = [
  {
    name: 'mails',
    what: 'trigger, three mails, exit',
    nodes: [welcome, tips, offer],
    plain: 'plainMails.ts',
    isAnswered: false,
    atLeast: 2.3,
  },
  {
    name: 'delay',
    what: 'trigger, mail, delay of 1 s, mail, exit',
    nodes: [welcome, { id: 'pause', type: 'delay', data: { ms: 1_000 } }, tips],
    plain: 'plainDelay.ts',
    isAnswered: false,
    atLeast: 1.7,
  },
  {
    name: 'wait',
    what: 'trigger, mail, wait for an event that comes, mail, exit',
    nodes: [
      welcome,
      { id: 'answer', type: 'wait_for_event', data: { event_name: ANSWER_EVENT } },
      tips,
    ],
    plain: 'plainWait.ts',
    isAnswered: true,
    atLeast: 1.5,
  },
]

/** All nodes of its design, in the order in which an execution enters them. */
export const nodesOf = ({ nodes }: Scenario): Node[] => [
  { id: 'start', type: 'trigger', data: { kind: 'event', event_name: TRIGGER_EVENT } },
  ...nodes,
  { id: 'end', type: 'exit', data: {} },
]

/** The emails of a scenario, in order. */
export const mailsOf = ({ nodes }: Scenario) =>
  nodes.flatMap(({ id, type, data }) =>
    type === 'send_email' ? [{ id, ...(data as Omit<Mail, 'id'>) }] : [],
  )

export function designOf(scenario: Scenario) {
  const nodes = nodesOf(scenario)
  const edges = nodes.slice(1).map(({ id }, i) => {
    const source = nodes[i]
    const received = source?.type === 'wait_for_event' ? { sourceHandle: 'received' } : {}
    return { id: `e${i}`, source: source?.id ?? '', target: id, ...received }
  })
  return { nodes, edges }
}
