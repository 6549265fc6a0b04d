// Functions over 60 lines: each is listed here with the reason why it is not split.
import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { filesOf, nameOfFunction, nodesOf, parseSource, rooms } from '../setup/sources.ts'

const LINES_MAX = 60

/** Functions that are only lists, in any file. */
const lists: [file: RegExp, name: RegExp, reason: string][] = [
  [/^db\/migrations\//, /^up$|^tellOf/, 'a migration is one list of statements, and frozen'],
  [
    /^api\/[\w-]+\/\w*[rR]outes\.ts$/,
    /Routes$/,
    'a list of routes, each with its handler after it',
  ],
]

/** `file name`, and why it is so long. */
const looked: Record<string, string> = {
  'runtime/batcher.ts createBatcher':
    'what waits and what is under way, and the functions that share it',
  'mail/smtp/session.ts createSession':
    'the proven state of one SMTP session; cut it only for a fault',
  'mail/smtp/pool.ts createPool': 'the proven state of one pool; cut it only for a fault',
  'mail/smtp/wire.ts createWire': 'the buffers of one connection, which all of its functions share',
  'mail/smtp/destination.ts createDestination':
    'the pace and pool of one destination, as one state',
  'mail/smtp/paced.ts createPaced': 'the pace and the pool that keeps it, as one state',
  'mail/smtp/line.ts createLine': 'the queues of one line, and the functions that share them',
  'mail/smtp/places.ts createPlaces':
    'what is taken and who waits, and the functions that share it',
  'mail/smtp/mx.ts createMxTransport': 'the settings of all destinations and their map',
  'api/http/answers.ts createAnswers':
    'what is counted and who waits, and the functions that share it',
  'api/http/bodies/budget.ts createBodyBudget':
    'what is used and who waits, and the functions that share it',
  'mail/compose/quotedPrintable.ts createQuoted': 'one loop over bytes, in the way of every mail',
  'mail/dkim/body.ts relaxedBodyHash': 'what one hash keeps, and the functions that share it',
  'mail/dns/resolver.ts createDns': 'one short function for each type of record',
  'mail/content/pool/pool.ts createPool': 'what one pool keeps, and the functions that share it',
  'delivery/compose/composer.ts createComposer':
    'what one composer keeps, and the functions that share it',
  'delivery/lane/run.ts createRunning': 'what one lane keeps, and the functions that share it',
  'delivery/webhooks/run.ts startWebhookSender':
    'what one worker has of endpoints, and the functions that share it',
  'inbound/submission/guard.ts createGuard':
    'what is counted of clients, and the functions that share it',
  'inbound/submission/spool.ts createSpool':
    'what messages take while they come, and the functions that share it',
  'dev/start/parts.ts createParts': 'one short function for each part of npm start',
  'bench/memory.ts memory': 'one figure from its servers to its report',
  'bench/plainActivities.ts sendMail':
    'the hand-written reference, which lists all columns of its rows',
  'bench/isolationRun.ts runIsolation': 'one run in its order, from the servers to what was seen',
  'bench/servers.ts openServers': 'one short function for each server',
  'bench/smtp.ts smtp': 'one figure from its servers to its report',
}

/** Finds the functions that are too long, without outer functions that are long only because of an inner one. */
function longFunctions(): string[] {
  return filesOf([...rooms, 'dev', 'bench']).flatMap((file) => {
    if (readFileSync(file, 'utf8').split('\n').length <= LINES_MAX) return []
    const source = parseSource(file)
    const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line
    return [...nodesOf(source)].flatMap((node) => {
      if (!ts.isFunctionDeclaration(node) && !isNamedExpression(node)) return []
      const lines = lineOf(node.getEnd()) - lineOf(node.getStart()) + 1
      return lines > LINES_MAX ? [`${file} ${nameOfFunction(node)}`] : []
    })
  })
}

/** Whether a function has a name. A function that is passed as an argument belongs to the function around it. */
function isNamedExpression(
  node: ts.Node,
): node is ts.ArrowFunction | ts.FunctionExpression | ts.MethodDeclaration {
  if (ts.isMethodDeclaration(node)) return true
  if (!ts.isArrowFunction(node) && !ts.isFunctionExpression(node)) return false
  return ts.isVariableDeclaration(node.parent) || ts.isPropertyAssignment(node.parent)
}

test('only the listed functions are over 60 lines, and each of them still is', () => {
  const isList = (entry: string) => {
    const [file = '', name = ''] = entry.split(' ')
    return lists.some(([files, names]) => files.test(file) && names.test(name))
  }
  expect(
    longFunctions()
      .filter((entry) => !isList(entry))
      .sort(),
  ).toEqual(Object.keys(looked).sort())
}, 60_000)
