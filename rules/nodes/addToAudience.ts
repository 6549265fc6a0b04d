// Adds the contact to an audience.
import { z } from 'zod'
import { checkAudienceId } from '../design/fieldChecks.ts'
import { defineNode, mayFail, never, noConditions } from './define.ts'
import { audienceId } from './fields.ts'
import { CHAIN_TOO_LONG, failedText } from './moves.ts'

export const addToAudience = defineNode({
  type: 'add_to_audience',
  summary: 'Adds the contact to an audience. Who left it is added unsubscribed.',
  data: z.object({ audience_id: audienceId }),
  handles: mayFail,
  handleTexts: {
    default: 'The contact is in the audience; `why` is `unchanged` if they were already',
    failed: failedText(`the audience was deleted, or ${CHAIN_TOO_LONG}`),
  },
  waits: never,
  check: (at) => checkAudienceId(at, 'audience_id'),
  conditions: noConditions,
  names: ({ audience_id }) => ({ audienceIds: [audience_id] }),
  enter: ({ audience_id }) => ({
    effect: { kind: 'join_audience', audienceId: audience_id },
    why: null,
  }),
})
