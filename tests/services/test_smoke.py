from atm.services.mail import Letter, send


def test_a_message_arrives(room):
    sent = send(room, "crew", "ann", Letter(sender="bob", text="hello"))
    assert sent.outcome == "success"
    assert [row.text for row in room.inboxes.rows("crew", "ann")] == ["hello"]


def test_the_program_sends_and_reads(atm):
    atm.team("crew", "ann", "bob")
    atm("send", "ann", "hello", "--from", "bob")
    assert "hello" in atm("read", env={"ATM_IDENTITY": "ann"}).out
    assert atm.rows("ann")[0]["read"] is True
