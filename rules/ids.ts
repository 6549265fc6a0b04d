// The form of ids: a prefix that names the resource and 26 Crockford characters that sort by time.

export const idPrefixes = {
  email: 'em',
  template: 'tpl',
  audience: 'aud',
  audienceContact: 'ac',
  segment: 'seg',
  domain: 'dom',
  domainKey: 'dk',
  workflow: 'wf',
  execution: 'exe',
  automationEvent: 'evt',
  contact: 'ct',
  apiKey: 'key',
  workspace: 'ws',
  user: 'usr',
  optOut: 'opt',
  job: 'job',
  webhook: 'wh',
  /** Is the `webhook-id` of all of its deliveries. */
  webhookEvent: 'msg',
  webhookDelivery: 'att',
} as const

export type IdKind = keyof typeof idPrefixes

/** Makes an id of a kind. */
export interface NewId {
  (kind: 'workspace'): WorkspaceId
  (kind: IdKind): string
}

/** True when the text has the form of an id of that kind. */
export function isId(kind: IdKind, text: string): boolean {
  return text.startsWith(`${idPrefixes[kind]}_`) && /^[a-z]+_[0-9A-HJKMNP-TV-Z]{26}$/.test(text)
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_MAX = 2 ** 48 - 1

/** The text form of a 48-bit time in ms: 10 Crockford characters. */
export function encodeTime(ms: number): string {
  let text = ''
  for (let i = 0, rest = ms; i < 10; i++) {
    text = ALPHABET[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** No id of that kind that is made then or later sorts before it; the earliest or the last one for times beyond. */
export function firstIdAt(kind: IdKind, ms: number): string {
  return `${idPrefixes[kind]}_${encodeTime(Math.min(Math.max(ms, 0), TIME_MAX))}${'0'.repeat(16)}`
}

declare const workspace: unique symbol

/** The id of a workspace, taken from an API key or a row. The type keeps other strings from being used as one. */
export type WorkspaceId = string & { readonly [workspace]: true }
