// The data of a send_email node: what it sends, from whom, and that the workspace can.

import { type CheckAt, problemAt } from './context.ts'
import {
  checkLiquid,
  checkMailbox,
  checkObject,
  checkOneOf,
  checkOptionalCondition,
  checkSender,
  checkSenderDomain,
  checkText,
  isGiven,
} from './fieldChecks.ts'
import type { Problem } from './types.ts'

export function checkSendEmail(at: CheckAt): Problem[] {
  return [
    ...checkContent(at),
    ...checkFrom(at),
    ...checkMailbox(at, 'reply_to'),
    ...checkObject(at, 'variables'),
    ...checkOneOf(at, 'category', ['marketing', 'transactional']),
    ...checkOneOf(at, 'on_suppressed', ['skip', 'exit', 'fail']),
    ...checkOptionalCondition(at, 'guard', 'node'),
  ]
}

/** A published template, or a subject with html or text; a subject beside a template stands in for the template's. */
function checkContent(at: CheckAt): Problem[] {
  const { template_id, subject, html, text } = at.data
  const problems = ['subject', 'html', 'text'].flatMap((key) => checkLiquid(at, key))
  if (isGiven(template_id)) return [...problems, ...checkTemplate(at)]
  if (!isGiven(subject)) {
    problems.push(
      ...problemAt(at, 'subject', 'subject_missing', 'template_id or subject is required'),
    )
  }
  if (!isGiven(html) && !isGiven(text)) {
    const message = 'html, text or template_id is required'
    problems.push(...problemAt(at, 'html', 'content_missing', message))
  }
  return problems
}

function checkTemplate(at: CheckAt): Problem[] {
  const { template_id, subject, html, text } = at.data
  if (typeof template_id !== 'string') return checkText(at, 'template_id')
  const problems: Problem[] = []
  if (isGiven(html) || isGiven(text)) {
    const message = 'template_id cannot be used together with html or text'
    problems.push(...problemAt(at, 'template_id', 'template_with_content', message))
  }
  const template = at.context.templates.get(template_id)
  if (!template) {
    const message = `Template '${template_id}' not found`
    return [...problems, ...problemAt(at, 'template_id', 'unknown_template', message)]
  }
  if (template.status !== 'published') {
    const message = `Template '${template_id}' is not published`
    return [...problems, ...problemAt(at, 'template_id', 'template_not_published', message)]
  }
  if (!template.hasSubject && !isGiven(subject)) {
    const message = `Template '${template_id}' has no subject`
    problems.push(...problemAt(at, 'subject', 'subject_missing', message))
  }
  return problems
}

/** The node's own sender, else the template's, else the design's default, which is checked with the settings. */
function checkFrom(at: CheckAt): Problem[] {
  if (isGiven(at.data['from'])) return checkSender(at, 'from')
  const id = at.data['template_id']
  const template = typeof id === 'string' ? at.context.templates.get(id) : undefined
  if (template?.from) return checkSenderDomain(at, 'template_id', template.from)
  if (isGiven(at.settings['default_from'])) return []
  return problemAt(at, 'from', 'from_missing', 'from or settings.default_from is required')
}
