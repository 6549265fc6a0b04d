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

declare const workspace: unique symbol

/** The id of a workspace, taken from an API key or a row. The type keeps other strings from being used as one. */
export type WorkspaceId = string & { readonly [workspace]: true }
