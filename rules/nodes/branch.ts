// Goes the way of the first branch whose condition holds.
import { z } from 'zod'
import { evaluate } from '../conditions/evaluate.ts'
import { conditionSchema } from '../conditions/schema.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkConditions, checkText, type HeldCondition } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { idFault, isGraphId } from '../design/shape.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { shown, typeName } from '../shown.ts'
import { defineNode, namesNothing, never } from './define.ts'

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

const held = (branch: JsonObject, i: number): HeldCondition => ({
  key: `branches.${i}.condition`,
  value: branch['condition'],
  scope: 'node',
  isRequired: true,
})

function listOf({ branches }: JsonObject): Json[] {
  return Array.isArray(branches) ? branches : []
}

function check(at: CheckAt): Problem[] {
  const branches = listOf(at.data)
  if (branches.length === 0) {
    const given = at.data['branches']
    const came = Array.isArray(given) ? 'an empty array' : typeName(given)
    const message = `branches must be an array of at least one branch, not ${came}`
    return problemAt(at, 'branches', 'missing_value', message)
  }
  if (branches.length > limits.branchesPerNodeMax) {
    const most = `${limits.branchesPerNodeMax} branches`
    const message = `branches must not exceed ${most}, has ${branches.length}`
    return problemAt(at, 'branches', 'too_many', message)
  }
  const seen = new Set<string>(['else'])
  return branches.flatMap((branch, i) => checkOne(at, branch, i, seen))
}

function checkOne(at: CheckAt, branch: Json, i: number, seen: Set<string>): Problem[] {
  const key = `branches.${i}`
  if (!isJsonObject(branch)) {
    const message = `a branch must be an object with id and condition, not ${typeName(branch)}`
    return problemAt(at, key, 'bad_value', message)
  }
  const problems = checkConditions(at, [held(branch, i)])
  const inner: CheckAt = { ...at, path: `${at.path}.${key}`, data: branch }
  problems.push(...checkText(inner, 'label', limits.nameCharsMax))
  const id = branch['id']
  if (!isGraphId(id)) {
    return [...problems, ...problemAt(inner, 'id', 'bad_id', idFault(id))]
  }
  if (seen.has(id)) {
    const why = id === 'else' ? 'is the way when no branch holds' : 'is that of another branch'
    problems.push(...problemAt(inner, 'id', 'duplicate_id', `id: ${shown(id)} ${why}`))
  }
  seen.add(id)
  return problems
}

function branchIds(data: JsonObject): string[] {
  const ids = listOf(data).map((branch) => (isJsonObject(branch) ? branch['id'] : null))
  return [...new Set(ids.filter((id) => typeof id === 'string'))].filter((id) => id !== 'else')
}

export const branch = defineNode({
  type: 'branch',
  summary: 'Goes on by the id of the first branch whose condition holds, or by `else`.',
  data,
  handles: (data) => ({ required: [...branchIds(data), 'else'], optional: [] }),
  handleTexts: {
    '<branch id>': 'The condition of this branch is the first that holds',
    else: 'No condition holds',
  },
  waits: never,
  check,
  conditions: (data) =>
    listOf(data).flatMap((branch, i) => (isJsonObject(branch) ? [held(branch, i)] : [])),
  names: namesNothing,
  enter({ branches }, { facts }) {
    const found = branches.find(({ condition }) => evaluate(condition, facts))
    return found
      ? { handle: found.id, why: found.label || found.id }
      : { handle: 'else', why: 'no branch matched' }
  },
})
