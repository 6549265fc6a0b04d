// Headers that a request may not set.

const reserved =
  /^(from|to|cc|bcc|subject|date|message-id|reply-to|mime-.*|content-.*|dkim-signature|received|return-path|feedback-id)$/i

/** True for headers that the service writes itself. A second one could make receivers trust the wrong value. */
export const isReservedHeader = (name: string): boolean => reserved.test(name)
