// Checks of what a mail says, and of who sends it.
import { type CheckAt, problemAt } from '../design/context.ts'
import {
  checkLiquid,
  checkSender,
  checkSenderDomain,
  checkText,
  isGiven,
} from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { shownText } from '../shown.ts'

/** A published template, or a subject with html or text; a subject beside a template stands in for the template's. */
export function checkContent(at: CheckAt): Problem[] {
  const { template_id, subject, html, text } = at.data
  const problems = ['subject', 'html', 'text', 'preview_text'].flatMap((key) =>
    checkLiquid(at, key),
  )
  if (isGiven(template_id)) return [...problems, ...checkTemplate(at)]
  if (!isGiven(subject)) {
    problems.push(
      ...problemAt(at, 'subject', 'subject_missing', 'subject is required without a template_id'),
    )
  }
  if (!isGiven(html) && !isGiven(text)) {
    const message = 'html or text is required without a template_id'
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
    const message = `template_id: this workspace has no template '${shownText(template_id)}'`
    return [...problems, ...problemAt(at, 'template_id', 'unknown_template', message)]
  }
  if (template.status !== 'published') {
    const message = `template_id: the template '${shownText(template_id)}' is a draft; publish it first`
    return [...problems, ...problemAt(at, 'template_id', 'template_not_published', message)]
  }
  if (!template.hasSubject && !isGiven(subject)) {
    const message = `subject is required: the template '${shownText(template_id)}' has none`
    problems.push(...problemAt(at, 'subject', 'subject_missing', message))
  }
  return problems
}

/** The node's own sender, else the template's, else the design's default, which is checked with the settings. */
export function checkFrom(at: CheckAt): Problem[] {
  if (isGiven(at.data['from'])) return checkSender(at, 'from')
  const id = at.data['template_id']
  const template = typeof id === 'string' ? at.context.templates.get(id) : undefined
  if (template?.from) return checkSenderDomain(at, 'template_id', template.from)
  if (isGiven(at.settings['default_from'])) return []
  return problemAt(
    at,
    'from',
    'from_missing',
    'from is required where neither the template nor settings.default_from names a sender',
  )
}
