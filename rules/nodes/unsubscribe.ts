// Unsubscribes the contact, from this workflow or from all marketing mail.
import { z } from 'zod'
import { checkOneOf } from '../design/fieldChecks.ts'
import { defineNode, mayFail, namesNothing, never, noConditions } from './define.ts'
import { CHAIN_TOO_LONG, failedText } from './moves.ts'

const scopes = ['workflow', 'workspace'] as const

export const unsubscribe = defineNode({
  type: 'unsubscribe',
  summary: 'Unsubscribes the contact, from this workflow or from all marketing mail.',
  data: z.object({
    scope: z
      .enum(scopes)
      .describe(
        '`workflow`: from this one. Unless `settings.on_unsubscribe` is `skip_sends`, the execution ends there. ' +
          '`workspace`: from every audience, and from the marketing mail of all workflows',
      )
      .meta({ default: 'workflow' })
      .exactOptional(),
  }),
  handles: mayFail,
  handleTexts: {
    default: 'The contact is unsubscribed and the execution goes on',
    failed: failedText(CHAIN_TOO_LONG),
  },
  waits: never,
  check: (at) => checkOneOf(at, 'scope', scopes),
  conditions: noConditions,
  names: namesNothing,
  enter: ({ scope = 'workflow' }) => ({ effect: { kind: 'unsubscribe', scope }, why: null }),
})
