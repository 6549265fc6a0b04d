// The source files of the project and their syntax trees, for tests of the sources.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { mayImport } from '../../dev/rooms.mjs'

export const rooms = Object.keys(mayImport)

/** Paths of the source files in these folders, relative to the project. */
export function filesOf(folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|mjs)$/.test(file))
      .map((file) => join(folder, file)),
  )
}

/** The syntax of one file, parents set. */
export function parseSource(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
}

/** Every node of a tree, outer nodes first. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node
  const children: ts.Node[] = []
  ts.forEachChild(node, (child) => void children.push(child))
  for (const child of children) yield* nodesOf(child)
}

/** The name of a function: its own, or that of the variable or property that it is assigned to. */
export function nameOfFunction(node: ts.FunctionLikeDeclaration): string {
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined)
  const property = ts.isPropertyAssignment(node.parent) ? node.parent.name : undefined
  return (named ?? property)?.getText() ?? 'a function without a name'
}
