// Sends each contact one of several ways, by a draw that never changes.
import { z } from 'zod'
import { problemAt } from '../design/context.ts'
import { checkOneOf } from '../design/fieldChecks.ts'
import { limits } from '../limits.ts'
import { fnv1a } from '../shard.ts'
import { shown } from '../shown.ts'
import { defineNode, namesNothing, never, noConditions } from './define.ts'
import { checkWays, type WayList, wayHandles } from './wayList.ts'

const stickies = ['contact', 'execution'] as const

const data = z.object({
  variants: z
    .array(
      z.object({
        id: z
          .string()
          .min(1)
          .max(limits.nodeIdCharsMax)
          .describe('The handle of this variant. No other variant of the node has it'),
        weight: z
          .number()
          .positive()
          .describe('Its share is this number, divided by the sum of all weights of the node'),
      }),
    )
    .min(1)
    .max(limits.variantsPerNodeMax)
    .describe('The ways, with the weight of each'),
  sticky: z
    .enum(stickies)
    .describe(
      '`contact`: the same address goes the same way at this node of this workflow, each time. `execution`: each execution ' +
        'draws for itself',
    )
    .meta({ default: 'contact' })
    .exactOptional(),
})

const list: WayList = {
  key: 'variants',
  item: 'variant',
  parts: 'id and weight',
  itemsMax: limits.variantsPerNodeMax,
  checkItem(at, { weight }, key) {
    if (typeof weight === 'number' && weight > 0) return []
    const message = `weight must be a number over 0, not ${shown(weight)}`
    return problemAt(at, `${key}.weight`, 'bad_value', message)
  },
}

/**
 * A number from 0 to below 1, the same for the same text for ever: a change here would move contacts to another variant. The
 * steps after FNV-1a are those that end MurmurHash3: without them the draws of one contact at two nodes are not independent.
 */
function draw(text: string): number {
  let hash = fnv1a(text)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/**
 * The id of the variant that a key draws at a node of a workflow.
 * @param variants at least one
 * @param key the contact's address in lower case, or the seed of the execution
 */
export function drawnVariant(
  variants: readonly { id: string; weight: number }[],
  from: { workflowId: string; nodeId: string; key: string },
): string {
  // In parts of the largest, so that no sum of weights is too large for a number.
  const largest = Math.max(...variants.map(({ weight }) => weight))
  const shares = variants.map(({ id, weight }) => ({ id, share: weight / largest }))
  const sum = shares.reduce((total, { share }) => total + share, 0)
  let left = draw(`${from.workflowId}:${from.nodeId}:${from.key}`) * sum
  const found = shares.find(({ share }) => {
    left -= share
    return left < 0
  })
  return (found ?? shares.at(-1))?.id ?? ''
}

export const split = defineNode({
  type: 'split',
  summary: 'Sends each contact one of several ways, by chance and by weight, and always the same.',
  data,
  handles: (data) => ({ required: wayHandles(list, data), optional: [] }),
  handleTexts: { '<variant id>': 'The draw fell on this variant' },
  waits: never,
  check: (at) => [...checkWays(at, list), ...checkOneOf(at, 'sticky', stickies)],
  conditions: noConditions,
  names: namesNothing,
  enter({ variants, sticky }, { nodeId, facts }) {
    const { workflowId, executionId, contact } = facts
    const key = sticky === 'execution' ? executionId : contact.email.toLowerCase()
    return { handle: drawnVariant(variants, { workflowId, nodeId, key }), why: null }
  },
})
