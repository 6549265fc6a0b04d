// Every statement that reads contacts of audiences passes over deleted audiences, or is listed here with a reason.
import ts from 'typescript'
import { expect, test } from 'vitest'
import { filesOf, nameOfFunction, nodesOf, parseSource } from '../../setup/sources.ts'

/** Reasons for a function that looks for no deleted audience, and the functions, as `folder/function`. */
const exceptions: Record<string, string[]> = {
  'the caller has locked the audience, and found it live': [
    'audiences/findAudienceContactProperties',
    'audiences/insertAudienceContacts',
    'audiences/listPropertiesBytes',
    'audiences/lockAudienceContacts',
    'audiences/unsubscribeAudienceContact',
    'audiences/updateAudienceContacts',
  ],
  'the caller keeps the audience from being deleted': [
    'audiences/deleteAudienceContactOf',
    'audiences/insertAudienceContactOnce',
  ],
  'what is left of a deleted audience goes': ['audiences/deleteContactsOfDeleted'],
  'an erasure takes out what is left of a person': [
    'contacts/eraseMember',
    'contacts/forgetPlaces',
    'contacts/listMemberships',
  ],
  'who left before this release is taken over, row by row': [
    'opt-outs/lockUncopiedAudiences',
    'opt-outs/setAudiencesCopied',
  ],
}

/** The functions of db/ that name the table, and whether they look for what is deleted. */
function readers(): { name: string; isCareful: boolean }[] {
  const files = filesOf(['db']).filter((file) => !/^db\/(migrations|tables)\//.test(file))
  return files.flatMap((file) => {
    const folder = file.split('/').slice(1, -1)[0] ?? file.replace(/^db\/|\.ts$/g, '')
    return outerFunctions(parseSource(file)).flatMap((node) => {
      const text = node.getText()
      if (!/\baudience_contacts\b/.test(text)) return []
      const isCareful = /\bisLiveAudience\(|\bdeleted_at\b/.test(text)
      return [{ name: `${folder}/${nameOfFunction(node)}`, isCareful }]
    })
  })
}

/** Those that stand in no other function. */
function outerFunctions(source: ts.SourceFile): ts.FunctionLikeDeclaration[] {
  const isFunction = (node: ts.Node) => ts.isFunctionDeclaration(node) || ts.isArrowFunction(node)
  return [...nodesOf(source)].filter(
    (node): node is ts.FunctionDeclaration | ts.ArrowFunction =>
      isFunction(node) && ts.findAncestor(node.parent, isFunction) === undefined,
  )
}

test('who reads contacts of audiences passes over deleted audiences, except those with a reason', () => {
  const found = readers()
  expect(found.filter(({ isCareful }) => isCareful).length).toBeGreaterThan(5)
  const without = found.filter(({ isCareful }) => !isCareful).map(({ name }) => name)
  expect(without.sort()).toEqual(Object.values(exceptions).flat().sort())
}, 60_000)
