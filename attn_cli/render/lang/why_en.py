"""English: what each step does and why, in the words of the chapter's library (4.1) and its warnings (4.5)."""

WHY = {
    "why.Q": "A query says what a token looks for, as a reader's wish does in a library.",
    "why.K": "A key says what a token offers, as the number on a book's back does; queries are held against it.",
    "why.V": "A value is what a token hands over when it is attended to, as the text of the book.",
    "why.hidden": "One small layer looks at a query and a key together; the tanh keeps each of its units between -1 and 1.",
    "why.products": "Each query is compared with each key: the larger the number, the better they match.",
    "why.products/scaled": "A dot product compares a query with a key: it is large where both are large in the same features.",
    "why.products/dot": "A dot product compares a query with a key: it is large where both are large in the same features.",
    "why.products/additive": "The vector v adds the units of the hidden layer up to one number: how well query and key match.",
    "why.products/general": "A matrix between query and key learns which features of one should be compared with which of the other.",
    "why.products/cosine": "Divided by the lengths of both, only the direction of a query and a key counts: from -1 to 1.",
    "why.raw_scores": "The scale keeps the scores in a range where the softmax still tells them apart.",
    "why.raw_scores/scaled": "Dot products vary by about √d_k; divided by it they vary by about 1, and the softmax does not saturate.",
    "why.capped": "The cap bends large scores back, so that none outgrows it.",
    "why.scores": "How well each query matches each key, with all that is said about the pair: scale, bias and mask.",
    "why.scores/scaled": "Dot products vary by about √d_k; divided by it they vary by about 1, and the softmax does not saturate.",
    "why.scores/masked": "What a query may not attend to gets the score -∞, whose exponential is 0.",
    "why.tempered": "A temperature above 1 evens the weights out; one below 1 sharpens them.",
    "why.exponentials": "The exponential makes every score positive and turns differences of scores into ratios of weights.",
    "why.row_sums": "What the exponentials of one query add up to: the whole of which each weight is a part.",
    "why.weights": (
        "Each query shares out one whole among the keys, by how well they match. "
        "A weight is a match, not an importance, and says nothing about what the value is worth."
    ),
    "why.weights/hard": "All weight goes to the key with the largest score; such a choice has no gradient.",
    "why.weights/sample": "One key is drawn for each query, with the softmax weights as chances; such a choice has no gradient.",
    "why.weights/gumbel": "Random noise is added before the softmax: close to drawing one key, yet it has a gradient.",
    "why.weights/sparsemax": "Like a softmax, but keys that match badly get exactly 0.",
    "why.weights/entmax15": "Between softmax and sparsemax: bad matches get exactly 0, good ones differ softly.",
    "why.heads": "Each head mixes its own part of the values with its own weights.",
    "why.concat": "The heads' outputs stand side by side again, head 1 first.",
    "why.output": "Each query takes from every value as much as its weight says, and adds it up.",
    "why.output/hard": "Each query takes the whole value of the key that was chosen.",
    "why.output/projected": "A last matrix mixes what the heads found.",
}
