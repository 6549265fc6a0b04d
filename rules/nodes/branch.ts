// Goes the way of the first branch whose condition holds.
import { z } from 'zod'
import { evaluate } from '../conditions/evaluate.ts'
import { conditionSchema } from '../conditions/schema.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkConditions, checkText, type HeldCondition } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isGraphId } from '../design/shape.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
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
            'The handle of this branch; not `else`, and no other branch of the node has it',
          ),
        label: z
          .string()
          .max(limits.nameCharsMax)
          .describe('What the log says when it is taken')
          .exactOptional(),
        condition: conditionSchema.describe('When it is taken'),
      }),
    )
    .min(1)
    .max(limits.branchesPerNodeMax)
    .describe('Looked at in this order; `else` is the way when none holds'),
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
    return problemAt(at, 'branches', 'missing_value', 'at least one branch is required')
  }
  if (branches.length > limits.branchesPerNodeMax) {
    const message = `a node may have ${limits.branchesPerNodeMax} branches`
    return problemAt(at, 'branches', 'too_many', message)
  }
  const seen = new Set<string>(['else'])
  return branches.flatMap((branch, i) => checkOne(at, branch, i, seen))
}

function checkOne(at: CheckAt, branch: Json, i: number, seen: Set<string>): Problem[] {
  const key = `branches.${i}`
  if (!isJsonObject(branch)) return problemAt(at, key, 'bad_value', 'a branch must be an object')
  const problems = checkConditions(at, [held(branch, i)])
  const inner: CheckAt = { ...at, path: `${at.path}.${key}`, data: branch }
  problems.push(...checkText(inner, 'label', limits.nameCharsMax))
  const id = branch['id']
  if (!isGraphId(id)) {
    const message = `id must be 1-${limits.nodeIdCharsMax} of A-Z a-z 0-9 _ -`
    return [...problems, ...problemAt(inner, 'id', 'bad_id', message)]
  }
  if (seen.has(id)) {
    problems.push(...problemAt(inner, 'id', 'duplicate_id', `the id ${id} is taken`))
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
