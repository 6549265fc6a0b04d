// Finds every raw SQL statement of db/ that has a row type, and the columns of that type.
import ts from 'typescript'
import { filesOf, nodesOf } from './sources.ts'

export type BaseType =
  | 'string'
  | 'number'
  | 'boolean'
  | 'Date'
  | 'Buffer'
  | 'json'
  | 'null'
  | 'array'

export interface PromisedColumn {
  types: Set<BaseType>
  /** Type of the elements of an array. */
  elements: Set<BaseType>
}

export interface RawStatement {
  /** `db/folder/file.ts function` */
  place: string
  /** Matches the compiled text, with any parameters. */
  pattern: RegExp
  columns: Map<string, PromisedColumn>
}

/** The statements `sql<Row>`…`.execute(…)`; with types resolved by the compiler. */
export function findRawStatements(): RawStatement[] {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.')
  const files = filesOf(['db']).filter((file) => !/^db\/migrations\//.test(file))
  const program = ts.createProgram(files, options)
  const checker = program.getTypeChecker()
  return files.flatMap((file) => {
    const source = program.getSourceFile(file)
    if (!source) throw new Error(`${file} is not part of the program`)
    return [...nodesOf(source)].flatMap((node) => {
      if (!ts.isTaggedTemplateExpression(node) || node.tag.getText() !== 'sql') return []
      const [row] = node.typeArguments ?? []
      if (!row || !isExecuted(node)) return []
      const columns = columnsOf(checker, checker.getTypeFromTypeNode(row), node)
      return [{ place: `${file} ${functionAround(node)}`, pattern: patternOf(node), columns }]
    })
  })
}

/** Normalises spaces and line ends. */
export const inOneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

function isExecuted(node: ts.TaggedTemplateExpression): boolean {
  return ts.isPropertyAccessExpression(node.parent) && node.parent.name.text === 'execute'
}

function functionAround(node: ts.Node): string {
  for (let at = node.parent; at; at = at.parent) {
    if (ts.isFunctionDeclaration(at)) return at.name?.text ?? ''
  }
  return ''
}

function patternOf({ template }: ts.TaggedTemplateExpression): RegExp {
  const texts = ts.isNoSubstitutionTemplateLiteral(template)
    ? [template.text]
    : [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)]
  const literally = (text: string) =>
    text.replace(/\s+/g, ' ').replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return new RegExp(`^ ?${texts.map(literally).join('.*?').trim()} ?$`)
}

/** The columns of a type; for a union those of all members, and a column that a member lacks may be missing. */
function columnsOf(
  checker: ts.TypeChecker,
  row: ts.Type,
  at: ts.Node,
): Map<string, PromisedColumn> {
  const members = row.isUnion() ? row.types : [row]
  const columns = new Map<string, PromisedColumn>()
  for (const member of members) {
    for (const property of checker.getPropertiesOfType(member)) {
      const known = columns.get(property.name) ?? { types: new Set(), elements: new Set() }
      addTypes(checker, checker.getTypeOfSymbolAtLocation(property, at), known)
      columns.set(property.name, known)
    }
  }
  return columns
}

function addTypes(checker: ts.TypeChecker, type: ts.Type, column: PromisedColumn): void {
  for (const one of type.isUnion() ? type.types : [type]) {
    const base = baseOf(checker, one)
    column.types.add(base)
    if (base !== 'array') continue
    const [element] = checker.getTypeArguments(one as ts.TypeReference)
    const inner: PromisedColumn = { types: new Set(), elements: new Set() }
    if (element) addTypes(checker, element, inner)
    for (const each of inner.types) column.elements.add(each)
  }
}

function baseOf(checker: ts.TypeChecker, type: ts.Type): BaseType {
  const { Null, Undefined, StringLike, NumberLike, BooleanLike } = ts.TypeFlags
  if (type.flags & (Null | Undefined)) return 'null'
  if (type.flags & StringLike) return 'string'
  if (type.flags & NumberLike) return 'number'
  if (type.flags & BooleanLike) return 'boolean'
  // A branded id is a string with a property that does not exist at runtime.
  if (type.isIntersection()) {
    return type.types.some((part) => part.flags & StringLike) ? 'string' : 'json'
  }
  const name = type.getSymbol()?.name
  if (name === 'Date') return 'Date'
  if (name === 'Buffer') return 'Buffer'
  return checker.isArrayType(type) ? 'array' : 'json'
}
