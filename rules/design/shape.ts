// The shape that every stored design has, finished or not: nodes, edges and settings that can be read at all.

import { isJsonObject, type JsonObject } from '../json.ts'
import { findJsonFault } from '../jsonFault.ts'
import { limits } from '../limits.ts'
import { shown, typeName } from '../shown.ts'
import type { Problem } from './problem.ts'
import type { ProblemCode } from './problemCodes.ts'

/** A design that may be saved as a draft: its graph may be unfinished and its data wrong. */
export interface RawDesign extends JsonObject {
  nodes: JsonObject[]
  edges: JsonObject[]
}

/** A node as far as it could be read. */
export interface ShapeNode {
  id: string
  /** '' when it is not text. */
  type: string
  /** null when it is not an object. */
  data: JsonObject | null
  /** `nodes.3` */
  path: string
}

interface ShapeEdge {
  source: string
  target: string
  /** `default` where the edge names none. */
  handle: string
  path: string
}

export interface Shape {
  nodes: ShapeNode[]
  edges: ShapeEdge[]
  settings: JsonObject
  problems: Problem[]
}

/**
 * Checks what a draft must have: arrays of nodes and edges within the limits (300, 600, 256 KiB), unique ids of 1-64
 * of `A-Z a-z 0-9 _ -`, text types, object data. The design comes back as it was, typed. Total: takes any JSON.
 */
export function checkDesignShape(
  design: unknown,
): { design: RawDesign; problems?: never } | { problems: Problem[] } {
  const { problems } = readShape(design)
  return problems.length > 0 ? { problems } : { design: design as RawDesign }
}

/** Reads whatever can be read, so that one bad node does not hide what is wrong with the others. */
export function readShape(design: unknown): Shape {
  const shape: Shape = { nodes: [], edges: [], settings: {}, problems: [] }
  const { problems } = shape
  if (!isJsonObject(design)) {
    const message = `design must be an object with nodes and edges, not ${typeName(design)}`
    problems.push(at(null, '', 'bad_design', message))
    return shape
  }
  const fault = findJsonFault(design, limits.designBytesMax)
  if (fault) {
    problems.push(at(null, '', fault.code, `design ${fault.message}`))
    return shape
  }
  const seen = { nodes: new Set<string>(), edges: new Set<string>() }
  for (const [i, node] of list(design, 'nodes', limits.designNodesMax, problems).entries()) {
    readNode(node, `nodes.${i}`, seen.nodes, shape)
  }
  for (const [i, edge] of list(design, 'edges', limits.designEdgesMax, problems).entries()) {
    readEdge(edge, `edges.${i}`, seen.edges, shape)
  }
  const settings = design['settings']
  if (isJsonObject(settings)) shape.settings = settings
  else if (settings !== undefined && settings !== null) {
    const message = `settings must be an object, not ${typeName(settings)}`
    problems.push(at(null, 'settings', 'bad_settings', message))
  }
  return shape
}

function at(node_id: string | null, path: string, code: ProblemCode, message: string): Problem {
  return { node_id, path, message, code }
}

function list(design: JsonObject, key: string, max: number, problems: Problem[]): unknown[] {
  const value = design[key]
  if (!Array.isArray(value)) {
    problems.push(at(null, key, 'bad_design', `${key} must be an array, not ${typeName(value)}`))
    return []
  }
  if (value.length > max) {
    problems.push(
      at(null, key, 'too_many', `${key} must not exceed ${max} items, has ${value.length}`),
    )
    return []
  }
  return value
}

/** 1-64 of `A-Z a-z 0-9 _ -`. */
export function isGraphId(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= limits.nodeIdCharsMax &&
    /^[A-Za-z0-9_-]+$/.test(value)
  )
}

/** What is wrong with an invalid id. */
export function idFault(id: unknown): string {
  return `id must be 1-${limits.nodeIdCharsMax} of A-Z a-z 0-9 _ -, not ${shown(id)}`
}

function readNode(node: unknown, path: string, seen: Set<string>, shape: Shape): void {
  if (!isJsonObject(node)) {
    const message = `a node must be an object, not ${typeName(node)}`
    shape.problems.push(at(null, path, 'bad_node', message))
    return
  }
  const { id, type, data } = node
  const isId = isGraphId(id)
  const report = (key: string, code: ProblemCode, message: string): void => {
    shape.problems.push(at(isId ? id : null, `${path}.${key}`, code, message))
  }
  if (typeof type !== 'string' || type === '') {
    report('type', 'bad_node', `type must be a string such as send_email, not ${shown(type)}`)
  }
  if (!isJsonObject(data)) {
    report('data', 'bad_node', `data must be an object, not ${typeName(data)}`)
  }
  if (!isId) {
    report('id', 'bad_id', idFault(id))
    return
  }
  if (seen.has(id)) {
    report('id', 'duplicate_id', `another node has the id ${id}`)
    return
  }
  seen.add(id)
  shape.nodes.push({
    id,
    type: typeof type === 'string' ? type : '',
    data: isJsonObject(data) ? data : null,
    path,
  })
}

function readEdge(edge: unknown, path: string, seen: Set<string>, shape: Shape): void {
  if (!isJsonObject(edge)) {
    const message = `an edge must be an object, not ${typeName(edge)}`
    shape.problems.push(at(null, path, 'bad_edge', message))
    return
  }
  const { id, source, target, sourceHandle: handle } = edge
  const before = shape.problems.length
  const node_id = isGraphId(source) ? source : null
  const report = (key: string, code: ProblemCode, message: string): void => {
    shape.problems.push(at(node_id, `${path}.${key}`, code, message))
  }
  if (!isGraphId(id)) report('id', 'bad_id', idFault(id))
  else if (seen.has(id)) report('id', 'duplicate_id', `another edge has the id ${id}`)
  else seen.add(id)
  for (const [key, end] of Object.entries({ source, target })) {
    if (isGraphId(end)) continue
    report(key, 'bad_edge', `${key} must be the id of a node, not ${shown(end)}`)
  }
  if (handle !== undefined && handle !== null && typeof handle !== 'string') {
    report('sourceHandle', 'bad_edge', `sourceHandle must be a string, not ${typeName(handle)}`)
  }
  if (shape.problems.length > before || !isGraphId(source) || !isGraphId(target)) return
  shape.edges.push({
    source,
    target,
    handle: edgeHandle(handle as string | null | undefined),
    path,
  })
}

/** The handle that an edge leaves from: React Flow writes none, null or '' for the only one of a node. */
export function edgeHandle(sourceHandle: string | null | undefined): string {
  return sourceHandle || 'default'
}
