// The faults of the fault sink, which the recipient's local part or the number of the connection selects.

const steps = ['banner', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'body', 'dot', 'rset'] as const
export type Step = (typeof steps)[number]

export const faults = [
  /** Closes or resets the connection, or sends nothing more. */
  'drop',
  'rst',
  'hang',
  '4xx',
  '5xx',
  /** Replies 421 and closes. */
  '421',
  'slow',
  /** Replies byte by byte. */
  'bytes',
  'multi',
  'longline',
  'longreply',
  /** Sends its reply twice, the second one unexpectedly. */
  'early',
  /** Sends a line that is not a reply. */
  'junk',
] as const
/** At the dot, after the message was accepted. */
export const keptFaults = ['kept_drop', 'kept_rst', 'kept_hang'] as const
export type Fault = (typeof faults)[number] | (typeof keptFaults)[number]

export interface Plan {
  step: Step
  fault: Fault
  /** How often; after that there is no fault. */
  times: number
}

/** Steps after RCPT, when the recipient is known. */
export const recipientSteps = ['rcpt', 'data', 'body', 'dot'] as const

/** The local part that selects a plan; `tag` makes it unique. */
export function localPartOf(tag: string, { step, fault, times }: Plan): string {
  return `${tag}+${step}-${fault}-${times}`
}

/** The plan of an address; null if it has none. */
export function planOf(address: string): Plan | null {
  const [, step, fault, times] = /\+([a-z]+)-(\w+)-(\d+)@/.exec(address) ?? []
  if (step === undefined || fault === undefined) return null
  return { step: step as Step, fault: fault as Fault, times: Number(times) }
}

const usual: Record<Step, string> = {
  banner: '220 fault.test ESMTP',
  ehlo: '',
  starttls: '454 4.7.0 no TLS here',
  mail: '250 2.1.0 ok',
  rcpt: '250 2.1.5 ok',
  data: '354 go ahead',
  body: '',
  dot: '250 2.0.0 taken',
  rset: '250 2.0.0 reset',
}

/** The reply at a step, and what happens to the connection then. */
export interface Answer {
  text: string
  /** `slow` waits before the reply, `bytes` sends each byte separately. */
  pace?: 'slow' | 'bytes'
  end?: 'drop' | 'rst' | 'hang'
}

export function answerAt(step: Step, ok: string, fault: Fault | undefined): Answer {
  const said = ok === '' ? usual[step] : ok
  const last = said.slice(said.lastIndexOf('\n') + 1)
  const code = last.slice(0, 3)
  switch (fault) {
    case undefined:
      return { text: said === '' ? '' : `${said}\r\n` }
    case 'drop':
    case 'rst':
    case 'hang':
      return { text: '', end: fault }
    case 'kept_drop':
      return { text: '', end: 'drop' }
    case 'kept_rst':
      return { text: '', end: 'rst' }
    case 'kept_hang':
      return { text: '', end: 'hang' }
    case '4xx':
      return { text: '451 4.3.0 not now\r\n' }
    case '5xx':
      return { text: '550 5.1.1 not here\r\n' }
    case '421':
      return { text: '421 4.3.2 closing\r\n', end: 'drop' }
    case 'slow':
    case 'bytes':
      return { text: said === '' ? '' : `${said}\r\n`, pace: fault }
    case 'multi':
      return { text: said === '' ? '' : `${code}-one\r\n${code}-two\r\n${said}\r\n` }
    case 'longline':
      return { text: `${code || '250'} ${'x'.repeat(5_000)}\r\n` }
    case 'longreply':
      return { text: `${`${code || '250'}-${'x'.repeat(1_000)}\r\n`.repeat(70)}${said}\r\n` }
    case 'early':
      return { text: said === '' ? '250 2.0.0 early\r\n' : `${said}\r\n${said}\r\n` }
    case 'junk':
      return { text: 'hello there\r\n' }
  }
}
