// What an API key may be allowed to do, and what an operation asks of the key that calls it.

export const permissions = ['full_access', 'sending_access', 'events_only', 'read_only'] as const

export type KeyPermission = (typeof permissions)[number]

/** What an operation needs: to send mail, to read what was sent, to post events, to read all else, to change all else. */
const needs = ['send', 'read_mail', 'post_events', 'read', 'manage'] as const

export type Need = (typeof needs)[number]

const granted: Record<KeyPermission, readonly Need[]> = {
  full_access: needs,
  sending_access: ['send', 'read_mail'],
  events_only: ['post_events'],
  read_only: ['read_mail', 'read'],
}

/** Whether a key of that permission may call an operation of that need. */
export function mayCall(permission: KeyPermission, need: Need): boolean {
  return granted[permission].includes(need)
}
