// Goes the way of the first branch whose condition holds.
import { z } from 'zod'
import { evaluate } from '../conditions/evaluate.ts'
import { conditionSchema } from '../conditions/schema.ts'
import { checkConditions, checkText, type HeldCondition } from '../design/fieldChecks.ts'
import { isJsonObject, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { defineNode, namesNothing, never } from './define.ts'
import { checkWays, type WayList, wayHandles, waysOf } from './wayList.ts'

const data = z.object({
  branches: z
    .array(
      z.object({
        id: z
          .string()
          .min(1)
          .max(limits.nodeIdCharsMax)
          .describe(
            'The handle of this branch. No other branch of the node has it, and it is not `else`',
          ),
        label: z
          .string()
          .max(limits.nameCharsMax)
          .describe('What the step says as its `why` when this branch is taken; else the id')
          .exactOptional(),
        condition: conditionSchema.describe('When this branch is taken'),
      }),
    )
    .min(1)
    .max(limits.branchesPerNodeMax)
    .describe('Asked in this order; the first whose condition holds is taken'),
})

const held = (branch: JsonObject, key: string): HeldCondition => ({
  key: `${key}.condition`,
  value: branch['condition'],
  scope: 'node',
  isRequired: true,
})

const list: WayList = {
  key: 'branches',
  item: 'branch',
  parts: 'id and condition',
  itemsMax: limits.branchesPerNodeMax,
  reserved: { id: 'else', why: 'is the way when no branch holds' },
  checkItem: (at, branch, key) => [
    ...checkConditions(at, [held(branch, key)]),
    ...checkText({ ...at, path: `${at.path}.${key}`, data: branch }, 'label', limits.nameCharsMax),
  ],
}

export const branch = defineNode({
  type: 'branch',
  summary: 'Goes on by the id of the first branch whose condition holds, or by `else`.',
  data,
  handles: (data) => ({ required: [...wayHandles(list, data), 'else'], optional: [] }),
  handleTexts: {
    '<branch id>': 'The condition of this branch is the first that holds',
    else: 'No condition holds',
  },
  waits: never,
  check: (at) => checkWays(at, list),
  conditions: (data) =>
    waysOf(list, data).flatMap((branch, i) =>
      isJsonObject(branch) ? [held(branch, `branches.${i}`)] : [],
    ),
  names: namesNothing,
  enter({ branches }, { facts }) {
    const found = branches.find(({ condition }) => evaluate(condition, facts))
    return found
      ? { handle: found.id, why: found.label || found.id }
      : { handle: 'else', why: 'no branch matched' }
  },
})
