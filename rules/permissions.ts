// What an API key may be allowed to do.

export const permissions = ['full_access', 'sending_access', 'events_only', 'read_only'] as const

export type KeyPermission = (typeof permissions)[number]
